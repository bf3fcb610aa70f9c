package certs

import (
	"path/filepath"
	"testing"

	"nowake.ai/svc-lb-mux/test/docs/page"
)

// documented returns the commands of docs/certificates.md that this test runs: those that replace the CA.
func documented(t *testing.T) string {
	t.Helper()
	blocks, err := page.Read(filepath.Join("..", "..", "..", "docs", "certificates.md"))
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, block := range blocks {
		if block.Mark == "test: e2e/certs" {
			found = append(found, block.Text)
		}
	}
	if len(found) != 1 {
		t.Fatalf("docs/certificates.md has %d blocks for this test, want one", len(found))
	}
	return found[0]
}
