// Package pool is where muxes' addresses come from.
//
// Claims (a ConfigMap) say which mux has which address; a pool says which one it can get.
// reconciler/addresses/pool/static hands out addresses of ranges. Pools that create cloud objects come later.
package pool
