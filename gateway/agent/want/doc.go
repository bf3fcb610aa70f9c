// Package want is what a gateway's kernel must hold: services, their backends, and the muxes' addresses. It is pure: values only.
//
// The decision that makes these values of muxes, EndpointSlices and claims will live here, too. The tables are put into the kernel by
// gateway/agent/table.
package want
