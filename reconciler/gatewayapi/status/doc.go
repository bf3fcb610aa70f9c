// Package status returns the statuses of a Gateway of ours, of its ListenerSets and of its routes, in the conditions of
// the Gateway API. It is pure.
//
//	gateway.go  the Gateway and its ListenerSets
//	route.go    routes
//	shown.go    listeners with their conditions, for the console and the command line
//	news*.go    what changed between two statuses, for Events
package status
