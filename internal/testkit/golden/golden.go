// Package golden compares what tests print with what archives in testdata expect, and rewrites these archives with
// -update.
//
// An archive is a txtar file. Most archives are one story: an input, then the expected output.
package golden

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
)

var update = flag.Bool("update", false, "rewrite expected outputs in testdata")

// Archive is a txtar file.
type Archive struct {
	path  string
	files txtar.Archive
}

// Stories reads the archives that match a pattern.
func Stories(t testing.TB, pattern string) []*Archive {
	t.Helper()
	paths, err := filepath.Glob(pattern)
	if err != nil || len(paths) == 0 {
		t.Fatalf("%s: no stories: %v", pattern, err)
	}
	var all []*Archive
	for _, path := range paths {
		all = append(all, Read(t, path))
	}
	return all
}

// Read reads an archive.
func Read(t testing.TB, path string) *Archive {
	t.Helper()
	path, err := filepath.Abs(path) // the test may change its folder
	if err != nil {
		t.Fatal(err)
	}
	files, err := txtar.ParseFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return &Archive{path, *files}
}

// Name returns the name of an archive, without its folder.
func (a *Archive) Name() string { return strings.TrimSuffix(filepath.Base(a.path), ".txtar") }

// Input returns the first file, which is the input of a story.
func (a *Archive) Input() []byte { return a.files.Files[0].Data }

// Sections returns the names of all files.
func (a *Archive) Sections() []string {
	var names []string
	for _, file := range a.files.Files {
		names = append(names, file.Name)
	}
	return names
}

// Section returns the text of a file. It is empty if the archive has no such file.
func (a *Archive) Section(name string) string {
	if i := slices.Index(a.Sections(), name); i >= 0 {
		return string(a.files.Files[i].Data)
	}
	return ""
}

// Extract writes the files of one suffix into a temporary folder, and returns its path.
func (a *Archive) Extract(t testing.TB, suffix string) string {
	t.Helper()
	dir := t.TempDir()
	for _, file := range a.files.Files {
		if path := filepath.Join(dir, file.Name); strings.HasSuffix(path, suffix) {
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			write(t, path, file.Data)
		}
	}
	return dir
}

// Compare compares a text with a file of an archive. The archive has a newline at the end of every file.
func (a *Archive) Compare(t testing.TB, name, got string) {
	t.Helper()
	if got != "" && !strings.HasSuffix(got, "\n") {
		got += "\n"
	}
	i := slices.Index(a.Sections(), name)
	switch {
	case *update && i < 0:
		a.files.Files = append(a.files.Files, txtar.File{Name: name, Data: []byte(got)})
	case *update:
		a.files.Files[i].Data = []byte(got)
	case i < 0:
		t.Errorf("%s has no file %s: -update writes it", a.path, name)
		return
	}
	if diff := cmp.Diff(a.Section(name), got); diff != "" {
		t.Errorf("%s, %s (-want +got), -update rewrites it:\n%s", a.path, name, diff)
	}
	if *update {
		write(t, a.path, txtar.Format(&a.files))
	}
}

// File compares a text with a file of testdata that isn't an archive.
func File(t testing.TB, path, got string) {
	t.Helper()
	if *update {
		write(t, path, []byte(got))
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got), -update rewrites it:\n%s", path, diff)
	}
}

func write(t testing.TB, path string, text []byte) {
	t.Helper()
	if err := os.WriteFile(path, text, 0o644); err != nil {
		t.Fatal(err)
	}
}
