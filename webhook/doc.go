// Package webhook answers the API server's admission reviews of Services and routes. Package validation has the rules.
//
//	Review      one request in, one answer out; uses no other input             PURE
//	NewHandler  an http.Handler around it: bodies, counters, a log line per denial
//	Run         the process: TLS, probes, metrics, and a shutdown that fails no admission
//
// The rules need only the reviewed object, so the webhook needs no client and no rights. As an option, the process also
// watches Services and predicts what the reconciler will decide (predict.go). Most predictions add a warning, and some
// deny the change. If no prediction can be made, the process is ready all the same, and the rules alone decide.
package webhook
