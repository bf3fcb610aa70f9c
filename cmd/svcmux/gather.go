package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// maxFile bounds what is read of one file. An API server takes 3 MiB an object; a List of a whole cluster's Services
// is some tens of MiB.
const maxFile = 64 << 20

const stdinName = "<stdin>"

// source is one file to read.
type source struct {
	path string // empty for standard input
	name string // as people are told of it
}

// gatherer walks directories; what it can't look into is told in the report.
type gatherer struct {
	rep   *report
	found []source
	seen  map[string]bool
}

// gather lists the files that paths stand for, each once, sorted.
func gather(paths []string, rep *report) []source {
	g := gatherer{rep: rep, seen: map[string]bool{}}
	for _, path := range paths {
		if path == "-" {
			g.add(source{name: stdinName})
			continue
		}
		info, err := os.Stat(path)
		switch {
		case err != nil:
			rep.unreadable(path, 0, plainError(err))
		case !info.IsDir():
			g.add(source{filepath.Clean(path), filepath.Clean(path)})
		default:
			g.root(filepath.Clean(path))
		}
	}
	slices.SortFunc(g.found, func(a, b source) int { return strings.Compare(a.name, b.name) })
	return g.found
}

func (g *gatherer) add(s source) {
	if !g.seen[s.name] {
		g.seen[s.name] = true
		g.found = append(g.found, s)
	}
}

// root walks a directory that was named. One with nothing in it is most likely not the one that was meant.
func (g *gatherer) root(path string) {
	troubles := len(g.rep.Unreadable)
	if files := g.directory(path); files == 0 && len(g.rep.Unreadable) == troubles {
		g.rep.unreadable(path, 0, "there is no .yaml, .yml or .json file in this directory, nor below it")
	}
}

// directory returns how many files it found.
func (g *gatherer) directory(path string) int {
	entries, err := os.ReadDir(path)
	if err != nil {
		g.rep.unreadable(path, 0, plainError(err))
	}
	files := 0
	for _, entry := range entries {
		below := filepath.Join(path, entry.Name())
		if entry.IsDir() {
			files += g.directory(below)
			continue
		}
		if g.isManifest(below, entry) {
			files++
			g.add(source{below, below})
		}
	}
	return files
}

// isManifest goes by the name. A link to a file is as good as a file; one to a directory could lead in circles.
func (g *gatherer) isManifest(path string, entry fs.DirEntry) bool {
	if entry.Type()&fs.ModeSymlink != 0 {
		info, err := os.Stat(path)
		switch {
		case err == nil && info.IsDir():
			g.rep.skip(path, "is a link to a directory, which isn't followed: name it with -f")
			return false
		case err == nil && !info.Mode().IsRegular():
			g.rep.skip(path, "is a link to no file: reading it could wait for ever")
			return false
		}
	}
	switch filepath.Ext(path) {
	case ".yaml", ".yml", ".json":
		return entry.Type().IsRegular() || entry.Type()&fs.ModeSymlink != 0
	}
	return false
}

func (s source) read(stdin io.Reader) ([]byte, error) {
	if s.path == "" {
		data, err := readAll(stdin)
		if err == nil && strings.TrimSpace(string(data)) == "" {
			// A pipe's first command that failed leaves nothing; that must not look like success.
			return nil, errors.New("is empty: did the command before the pipe fail?")
		}
		return data, err
	}
	file, err := os.Open(s.path)
	if err != nil {
		return nil, errors.New(plainError(err))
	}
	defer file.Close() //nolint:errcheck // nothing was written that closing could lose
	return readAll(file)
}

func readAll(r io.Reader) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxFile+1))
	if err != nil {
		return nil, errors.New(plainError(err))
	}
	if len(data) > maxFile {
		return nil, fmt.Errorf("is larger than %d MiB: split it", maxFile>>20)
	}
	return data, nil
}

// plainError leaves out the path, which is told anyway.
func plainError(err error) string {
	var at *fs.PathError
	if errors.As(err, &at) {
		err = at.Err
	}
	return "can't be read: " + err.Error()
}
