// Package dataplane measures what clients see: how soon a new port answers.
package dataplane
