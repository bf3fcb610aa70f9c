// Package ledger holds the reconciler's store of claims to its word on a real API server: what it believes of a cache
// that is behind, what it asks live, and what it leaves alone.
package ledger

import (
	"testing"

	"nowake.ai/svc-lb-mux/test/cluster/cluster"
)

func TestMain(m *testing.M) { cluster.Main(m) }

// ledgerName is what the tests' muxes call their ledgers, if nothing else is said.
const ledgerName = "mux-port-allocations"

// TestLedger shares one cluster; each part has a namespace of its own.
func TestLedger(t *testing.T) {
	c := cluster.Start(t, cluster.APIServerOnly())
	for name, test := range map[string]func(*testing.T, *world){
		"what is written is read, and asked for no more":    quiet,
		"nothing of others is touched":                      neighbours,
		"ten thousand claims":                               large,
		"an older cache is overruled by what was written":   readYourWrites,
		"an older cache is overruled by the mux's stamp":    stamped,
		"a lost label is no lost ledger, and is mended":     unlabelled,
		"a mended ledger is seen before the cache shows it": mended,
		"bad news is read live each time":                   confirmed,
		"an emptied ledger is read live":                    emptied,
		"a deleted ledger is missing":                       deleted,
		"who writes second has a conflict":                  conflicts,
		"a ledger moves to its new name":                    moves,
		"a ledger that can't be deleted has moved":          movesWithoutDelete,
		"a ledger moves over an older one":                  movesOver,
		"a broken ledger freezes under its old name too":    movesBroken,
		"what isn't ours is left alone":                     foreign,
		"what can't be read isn't missing":                  forbidden,
		"what a new cache doesn't know yet is found":        unknown,
		"with the cache that ships":                         realCache,
		"who only looks reads what is new once":             peeked,
		"what nobody asks for is neither read nor kept":     crowded,
	} {
		t.Run(name, func(t *testing.T) { test(t, newWorld(t, c)) })
	}
}
