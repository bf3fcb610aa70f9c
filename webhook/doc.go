// Package webhook answers the API server's admission reviews of Services, in the language of package validation.
//
//	Review      one request in, one answer out; nothing else is known to it     PURE
//	NewHandler  an http.Handler around it: bodies, counters, a log line per denial
//	Run         the process: TLS, probes, metrics, and an end that fails no admission
//
// What needs a second object to decide isn't decided here, and for what is, no client and no right is needed. On
// request, the process also follows Services and tells what the reconciler would decide by them: predict.go. That only
// ever adds to an answer. Readiness, and admission, don't depend on it.
package webhook
