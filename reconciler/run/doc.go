// Package run is the reconciler's process: a manager runs the mux line and the backends line; the process elects a
// leader, and serves probes and metrics. reconciler/numbers/plan makes the decisions; reconciler/services and
// reconciler/backends carry them out.
package run
