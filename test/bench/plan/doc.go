// Package plan measures the time of a decision about a mux with ten thousand claims.
package plan
