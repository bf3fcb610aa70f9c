// Package host makes a small machine of its own inside this one: network, mounts and process numbers are apart,
// and all of it is gone when the process that asked for it is gone, however that ends.
//
//	test process ──── lifeline (a pipe) ───► keeper            in the machine's own namespaces
//	     │                                     │ clone          makes and removes cgroups and the folder
//	     └── host.sock: start, dial, listen ──► init (PID 1)    in namespaces of its own
//	                                             ├─ etcd        its death is the kernel's order to kill
//	                                             └─ …           every process in there, and with the last
//	                                                            one go its mounts and networks
//
// The three are one program, run again under another role: so main, or TestMain, calls Reexec first. A socket
// that is made in a network namespace stays there, whoever holds it; so Dial and Listen have init make the socket
// and hand its file descriptor over, and no traffic passes through anything of ours.
//
// What runs on such a machine isn't known here (package cluster).
package host
