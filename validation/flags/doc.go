// Package flags checks flag and environment values that several processes share. So a flag has the same meaning and the
// same error messages in each process. Each process defines its own flags.
package flags
