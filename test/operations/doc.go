// Package operations holds docs/operations.md to the code: whatever reason an Event or a condition can have, people find
// what to do about it there.
package operations
