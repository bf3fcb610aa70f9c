// Package keep holds an agent's state on disk, so that the agent starts without an API server.
//
//	<state-dir>/state    first line: format, version and checksum of the rest
//	                     rest: JSON of the state
//
// A state is replaced as a whole: written to a file beside it, synced, renamed, and the directory synced. After a power
// cut, the file has the state before or the state after. If the file can't be read, Load returns an error. The caller
// logs the error, and starts without the state.
package keep
