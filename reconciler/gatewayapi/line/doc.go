// Package line serves Gateways of our GatewayClasses: a Gateway is a mux, and each of its listeners asks for a number
// on it.
//
//	line.go      one pass over a Gateway: observe, judge (reconciler/gatewayapi/read), apply
//	observe.go   the Gateway, its ListenerSets, routes, backends and grants
//	mux.go       the Service that is the Gateway's mux
//	class.go     GatewayClasses, and the template that their muxes are made from
//	board*.go    listeners, their numbers and their backends, for the lines of muxes and of backends
//	publish.go   statuses (reconciler/gatewayapi/status)
//	unserved.go  Gateways in namespaces that this process doesn't serve
//	stray.go     entries in the status of routes about parents that are gone
//	watch.go     which change wakes which Gateway
//
// The line of muxes gives listeners their numbers, and the line of backends fills their EndpointSlices, as they do for
// channels.
package line
