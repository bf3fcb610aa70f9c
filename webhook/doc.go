// Package webhook answers the API server's admission reviews of Services. Package validation has the rules.
//
//	Review      one request in, one answer out; uses no other input             PURE
//	NewHandler  an http.Handler around it: bodies, counters, a log line per denial
//	Run         the process: TLS, probes, metrics, and a shutdown that fails no admission
//
// Rules that need a second object aren't enforced here, so the webhook needs no client and no rights. As an option, the
// process also watches Services and predicts what the reconciler will decide (predict.go). Predictions only add to an
// answer: readiness and admission don't depend on them.
package webhook
