// Package dataplane measures what clients see: how soon a port answers.
package dataplane
