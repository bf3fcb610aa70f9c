// Package ledger stores the claims of each mux in a ConfigMap, and keeps those in force in memory. Package
// reconciler/numbers/plan decides about claims.
//
//	codec/  Encode, Decode      turns a plan.Ledger into the contents of a ConfigMap, and back; pure
//	store   Store.Read, Write   reads and writes that ConfigMap, and confirms by live reads what a cache can't prove
//	board   Board               holds the claims in force of all muxes, for the backends and the console
package ledger
