package table_test

import "testing"

func TestGenerationChangesWithEachTransactionOfAnyProcess(t *testing.T) {
	w := newWorld(t)
	generation := func() uint32 {
		t.Helper()
		number, err := w.kernel.Generation()
		if err != nil {
			t.Fatal(err)
		}
		return number
	}
	before := generation()
	w.apply(t, everything())
	own := generation()
	w.apply(t, everything()) // writes nothing
	if again := generation(); own == before || again != own {
		t.Errorf("before %d, after a transaction %d, after none %d", before, own, again)
	}
	w.gateway.Run("nft", "add table ip foreign")
	if foreign := generation(); foreign == own {
		t.Errorf("a foreign transaction left the generation at %d", own)
	}
}
