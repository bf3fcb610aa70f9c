// Package backends carries the endpoints of channels to their mux. For each EndpointSlice of a channel, the mux gets a
// slice of its own, whose ports have the names of the channel's claims.
//
//	observe  the channel, its claims, its mux, its slices and the mux's    from the cache
//	decide   project.Decide(view)
//	apply    the steps of the decision: EndpointSlices, and nothing else
//
// A pass is about one channel and never writes a Service. So a pod that comes or goes costs one write of one slice,
// however many channels the mux has. The line reports whether each channel has backends, and the mux line writes that
// into its condition. Changed slices and Services wake the pass of their channel, as does the Waker when claims change.
//
// Beside the passes run the sweeper, which deletes slices that no pass sees, the takeover, which removes the Endpoints
// that the original kept on a mux, and, on request, the writer of such Endpoints for readers that don't know slices.
package backends
