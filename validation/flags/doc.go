// Package flags judges what processes are told by flags and environment, where several are told the same: one flag means
// one thing, and a mistake is told in one way. It holds values and checks; which flags there are, each process says.
package flags
