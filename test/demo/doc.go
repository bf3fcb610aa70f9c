// Command demo shows svc-lb-mux to somebody who has never seen it: `make demo`.
//
// It starts a cluster of its own, and types there what a person would type; the commands that it prints are the ones that it
// runs. It stays until Ctrl-C, and leaves nothing. Whatever goes wrong ends it with a sentence, and leaves nothing either.
package main
