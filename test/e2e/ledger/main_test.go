// Package ledger tests the reconciler's store of claims on a real API server: when it trusts a stale cache, when it
// reads live, and which objects it leaves alone.
package ledger

import (
	"testing"

	"nowake.ai/svc-lb-mux/test/cluster/cluster"
)

func TestMain(m *testing.M) { cluster.Main(m) }

// ledgerName is the default name of the tests' ledgers.
const ledgerName = "mux-port-allocations"

// TestLedger runs all parts on one cluster, each in its own namespace.
func TestLedger(t *testing.T) {
	c := cluster.Start(t, cluster.APIServerOnly())
	for name, test := range map[string]func(*testing.T, *world){
		"a written ledger is read without a request":        quiet,
		"others' labels and data are kept":                  neighbours,
		"ten thousand claims":                               large,
		"a written ledger overrules a stale cache":          readYourWrites,
		"the mux's stamp overrules a stale cache":           stamped,
		"a lost label is restored":                          unlabelled,
		"a repaired ledger is seen before the cache has it": mended,
		"a broken ledger is read live each time":            confirmed,
		"an emptied ledger is read live":                    emptied,
		"a deleted ledger is missing":                       deleted,
		"the second of two writers gets a conflict":         conflicts,
		"a ledger moves to its new name":                    moves,
		"a moved ledger whose old copy can't be deleted":    movesWithoutDelete,
		"a ledger moves over an older one":                  movesOver,
		"a broken ledger under its old name freezes":        movesBroken,
		"foreign ConfigMaps are left alone":                 foreign,
		"an unreadable ledger isn't missing":                forbidden,
		"a new process finds the ledger that the mux names": unknown,
		"with the process's real cache":                     realCache,
		"peeking reads a new ledger once":                   peeked,
		"unrelated ConfigMaps are neither read nor kept":    crowded,
	} {
		t.Run(name, func(t *testing.T) { test(t, newWorld(t, c)) })
	}
}
