// Package webhook holds the webhook's benchmarks: what a review costs, and what many at once do to a process.
package webhook
