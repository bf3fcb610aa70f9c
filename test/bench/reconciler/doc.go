// Package reconciler measures the reconciler's process against a real API server: how long users wait, what it asks of
// the API server, and what it weighs. Its floor is a bare client that does just the necessary writes.
package reconciler
