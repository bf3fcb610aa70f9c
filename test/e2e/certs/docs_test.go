package certs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// documented is the block of docs/certificates.md that follows a mark.
func documented(t *testing.T, mark string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "certificates.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, after, found := strings.Cut(string(text), "<!-- run by test/e2e/certs: "+mark+" -->\n```\n")
	script, _, whole := strings.Cut(after, "\n```\n")
	if !found || !whole {
		t.Fatalf("docs/certificates.md has no block marked %s", mark)
	}
	return script
}
