// Package read turns objects of the Gateway API into muxes and channels, which package plan decides about. It is pure.
//
// For the allocator, on anybody's Gateways:
//
//	gateway.go      a Gateway with a port-range is a mux
//	route.go        a TCPRoute or UDPRoute that asks for a number is a channel
//	listenerset.go  the ListenerSet that has a route's number
//
// For Gateways that are served here:
//
//	served.go   the listeners of a Gateway and of its ListenerSets; each is a channel with one port
//	attach.go   routes: the listeners that they attach to, and their backends
//	class.go    the Service that is a Gateway's mux, made from its GatewayClass's template
//	mux.go      labels, owner and address of that Service
//
// Names of Services have no slash, so kinds stand before the names of other objects, as kubectl writes them: the mux
// infra/gateway/edge, the channel shop/tcproute/broker-0.
package read
