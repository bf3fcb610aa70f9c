// Package api is an API server in memory, for simulations: of Services, ConfigMaps, EndpointSlices and Endpoints, as far
// as svc-lb-mux can tell it from a real one. A test holds it to that.
//
//	Server    keeps objects and all that has become of them; one call at a time
//	Stream    is a watch of it that is read when its reader likes, up to the point where it was compacted
//	Client    speaks to it as a controller-runtime client does
//
// It knows resource versions, optimistic concurrency, the status subresource, what is defaulted, allocated and refused
// of a Service, merge and strategic merge patches, preconditions, finalizers, admission, bookmarks, what is forgotten, and
// what the garbage collector would do. It doesn't know server-side apply, field selectors, any page of a list but the first, quotas, namespaces
// that come and go, foreground deletion, or owners of other kinds: nothing here uses them.
package api
