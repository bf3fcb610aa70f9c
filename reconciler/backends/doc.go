// Package backends is the line that carries backends: what a channel's EndpointSlices say is said again by slices of
// its mux, under the names that its claims have there.
//
//	observe  the channel, its claims, its mux, its slices and ours    from the cache
//	decide   muxslices.Decide(view)
//	apply    the steps it names: EndpointSlices, and nothing else
//
// It works on one channel at a time, and never writes a Service: a pod that comes or goes costs one write of one slice,
// however many channels the mux has.
//
//	EndpointSlices ─┐                    what wakes it, and for which channel:
//	Services ───────┼──▶ channel         a slice for the one it belongs to, a mux for all of its channels,
//	Waker ──────────┘                    claims for the one whose they are
//
// What is decided, and why, lives in reconciler/plan; who holds which port is told by Options.Claims. Beside the line
// lives the takeover, which lets go of the Endpoints object that the original kept on a mux, once slices stand in for it;
// and, on request, the writer of such an object for readers that know no slices.
package backends
