// Package read reads objects of the Gateway API as what package plan decides about: a Gateway is a mux, and a route that asks for a number
// is a channel with one port. It is pure.
//
//	gateway.go    a Gateway with a port-range, its listeners and those of ListenerSets
//	route.go      a TCPRoute or UDPRoute that asks for a number
//	listenerset.go  the ListenerSet that carries a route's number
//
// Names of Services have no slash, so kinds stand before the names of other objects, as kubectl writes them: the mux infra/gateway/edge, the
// channel shop/tcproute/broker-0.
package read
