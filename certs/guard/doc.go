// Package guard says whether admission is on guard: whether an API server that asks the webhook gets through to it.
//
//	observe  the configuration, what cert-manager says of its Certificates, and a handshake with the webhook's Service
//	judge    what is amiss, each with a reason and a way out                PURE
//	tell     an Event on the webhook's Service, metrics, readiness; on a change only
//
// The handshake is what counts: it is what the API server will do, with the name and the bundle that it will do it with.
// What cert-manager says comes on top, since it tells of what is about to go wrong. What mends a fault doesn't live here.
package guard
