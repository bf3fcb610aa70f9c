// Package console serves a page, and its JSON, that shows every mux, the holder of each port, and the reasons of
// refusals.
//
//	informers ─changes─▶ hub ──Look──▶ view ──difference──▶ streams ──▶ pages
//	decisions, Events ──▶ timeline ────────────────────────┘
//
// The console shows the reconciler's own plan, from the reconciler's own caches. It makes snapshots only for requests
// and open pages. It sends the API server only reviews of tokens, and reads of the gateways' Leases and of ledgers that
// changed. It runs in every replica, also in those that don't lead.
//
// Package view makes the values to show; folder page has the page's files. Names and annotations are hostile input: the
// page shows them as text, and the answers' headers allow no scripts but the page's own.
package console
