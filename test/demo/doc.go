// Command demo shows svc-lb-mux to newcomers: `make demo`.
//
// It starts its own cluster and runs there the commands that a person would type. It prints exactly the commands that
// it runs. It stays until Ctrl-C, and leaves nothing behind. On any failure it prints a sentence, and leaves nothing
// behind either.
package main
