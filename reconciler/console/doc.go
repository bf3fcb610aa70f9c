// Package console serves a page, and its JSON, that shows every mux, who holds which port, and why not.
//
//	informers ──news──▶ hub ──Look──▶ view ──difference──▶ streams ──▶ pages
//	decisions, Events ──▶ timeline ────────────────────────┘
//
// What it shows is the reconciler's own plan over the reconciler's own caches: it makes no request to the API server, and
// while nobody looks it does nothing. It runs in every replica, whether that one leads or waits to.
//
// What is shown, as values, is in view; the page, as it is sent, in page. What people put into names and annotations is
// hostile input: the page makes text of it, and the answers' headers let no script run but its own.
package console
