// Package status says in the conditions of the Gateway API what became of a Gateway of ours, its listeners and its routes. It is pure.
//
//	gateway.go  the Gateway and its ListenerSets
//	route.go    routes
package status
