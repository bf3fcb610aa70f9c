// Package process runs an agent as a process: flags, the connection to the API server, probes, the orderly end, and the
// removal of all that an agent leaves on a machine.
package process
