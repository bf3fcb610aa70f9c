package main

import (
	"os"
	"strings"
	"testing"
	"time"
)

func TestColoursDoNotChangeTheText(t *testing.T) {
	say := func(coloured bool) string {
		var out strings.Builder
		p := printer{to: &out, coloured: coloured}
		p.heading("A part")
		p.command("kubectl get \\\n  pods")
		p.text("what it says\n")
		p.took(time.Now())
		return out.String()
	}
	words := say(false)
	if want := "\nA part\n$ kubectl get \\\n    pods\nwhat it says\n  took 0.0 s\n"; words != want {
		t.Errorf("got %q, want %q", words, want)
	}
	bright := say(true)
	if bright == words || strings.NewReplacer(bold, "", faint, "", plain, "").Replace(bright) != words {
		t.Errorf("a terminal gets no colours: %q", bright)
	}
	file, err := os.Create(t.TempDir() + "/out")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if newPrinter(file).coloured {
		t.Error("a file gets colours, want plain text")
	}
}
