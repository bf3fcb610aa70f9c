// Package webhook measures the webhook: the cost of a review, and the effect of many concurrent reviews on a process.
package webhook
