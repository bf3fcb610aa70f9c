// Package reconciler measures the reconciler's process with a real API server: users' waiting time, requests to the API
// server, and memory. The floor is a bare client that does only the necessary writes.
package reconciler
