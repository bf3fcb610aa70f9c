// Package operations checks docs/operations.md against the code: the page says what to do about every reason that an
// Event or a condition can have.
package operations
