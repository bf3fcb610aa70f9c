// Package plan measures how long it takes to decide about a mux with ten thousand claims.
package plan
