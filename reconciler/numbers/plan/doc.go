// Package plan decides which channel has which port of a mux, and which writes follow.
//
//	World, Memory ──Mux──▶ Plan
//
// The World is the observed state of one mux, its channels and its ledger. The Memory has the results of earlier passes
// of this process; a pass works without it. The decision is pure and total: equal values give equal plans, whatever the
// values are. Reading, writing, waiting and counting are in reconciler/services. The log, the console, `once`, Events
// and the golden tests print the same Plan. The decision about backends is in reconciler/backends/project.
//
// A pass takes these steps (plan.go):
//
//	readClaims   which channel owns which number: from the ledger, or rebuilt from the mux where the ledger is lost
//	readPorts    which ports on the mux are claimed, which are ours without a claim, and which are foreign
//	frozenBy     whether anything may be decided; a frozen mux keeps its ports, and of the later steps only tell follows
//	keep         channels with ports keep them, change them, or release them
//	admit        channels without ports get all requested ports, or nothing
//	retryRefused refused requests are decided once more
//	gatherNames  which DNS names the mux has
//	decideWrites the ledger and the mux as they are from now on
//	tell         what each channel shows: address, conditions, ports
//	confirm      which channels lose something, so that a live read must confirm them first, and whether the mux, too
//
// The order in which a Plan is carried out keeps a number from ever having two owners:
//
//	Reserve  the ledger: new claims, and claims that are released
//	Hide     addresses off channels that lose their last port
//	Publish  the mux: ports, annotations, the ledger's name and generation
//	Settle   the ledger: a released number is free, or reserved for its owner for a while; and changes that need no
//	         write of the mux
//	Show     channels: address, conditions, ports
//
// A number that goes to another channel takes two passes or more. First it leaves the mux, then the ledger: at once, or
// after a grace.
package plan
