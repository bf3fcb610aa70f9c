// Package process is the reconciler's process: it has a manager run the mux line and the backends line, elects a
// leader, and serves probes and metrics. What is decided lives in reconciler/plan; what is done, in reconciler/mux and
// reconciler/backends.
package process
