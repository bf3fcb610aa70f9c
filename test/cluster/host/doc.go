// Package host makes a small machine inside of this one. It has its own network, mounts and process IDs. It disappears
// with the process that started it, however that process ends.
//
//	test process ──── lifeline (a pipe) ───► keeper            in the machine's own namespaces
//	     │                                     │ clone          makes and removes cgroups and the folder
//	     └── host.sock: start, dial, listen ──► init (PID 1)    in namespaces of its own
//	                                             ├─ etcd        its death is the kernel's order to kill
//	                                             └─ …           every process in there, and with the last
//	                                                            one go its mounts and networks
//
// The three processes run the same program in different roles, so main or TestMain calls Reexec first. A socket stays
// in the network namespace in which it was made, whichever process holds it. So for Dial and Listen, init makes the
// socket and passes its file descriptor, and no traffic passes through our code.
//
// Package cluster defines what runs on such a machine.
package host
