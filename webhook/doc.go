// Package webhook answers the API server's admission reviews of Services, in the language of package validation.
//
//	Review      one request in, one answer out; nothing else is known to it     PURE
//	NewHandler  an http.Handler around it: bodies, counters, a log line per denial
//	Run         the process: TLS, probes, metrics, and an end that fails no admission
//
// It has no client and needs no right in the cluster: what needs a second object to decide isn't decided here.
package webhook
