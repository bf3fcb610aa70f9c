// Package api is an API server in memory for simulations. It serves Services, ConfigMaps, EndpointSlices and Endpoints,
// and behaves like a real server in all that svc-lb-mux can observe. A test compares the two.
//
//	Server    stores objects and their history; handles one call at a time
//	Stream    is a watch, read whenever its reader likes, until compaction expires it
//	Client    is a controller-runtime client of the server
//
// The server implements resource versions, optimistic concurrency, the status subresource, and defaulting, allocation
// and validation of Services. It implements merge and strategic merge patches, preconditions, finalizers, admission,
// bookmarks, compaction, and the decisions of the garbage collector. It lacks what the simulation doesn't use:
// server-side apply, field selectors, pages of lists, quotas, the life of namespaces, foreground deletion, and owners
// of other kinds.
package api
