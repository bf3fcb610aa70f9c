// Package process is the process of the gateways' controller: flags, manager, leader election, probes, metrics and
// logs.
package process
