// Package flags checks flag and environment values that several processes share, so that a flag means the same in each
// process, and has the same error messages. Each process defines its own flags.
package flags
