package validate

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

// maxFile limits the size of one file. An API server accepts 3 MiB an object; a List of all Services of a large cluster
// has some tens of MiB.
const maxFile = 64 << 20

const stdinName = "<stdin>"

// source is one file to read.
type source struct {
	path string // empty for standard input
	name string // as shown to users
}

// gatherer walks directories, and reports those that it can't read.
type gatherer struct {
	rep   *report
	found []source
	seen  map[string]bool
}

// gather returns the files of the given paths, without duplicates, sorted by name.
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

// root walks a directory of the command line. It reports a directory without manifests, which is probably a wrong path.
func (g *gatherer) root(path string) {
	troubles := len(g.rep.Unreadable)
	if files := g.directory(path); files == 0 && len(g.rep.Unreadable) == troubles {
		g.rep.unreadable(path, 0, "there is no .yaml, .yml or .json file in this directory, nor below it")
	}
}

// directory adds the manifests of a directory and returns their number.
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

// isManifest decides by the file's extension. It follows links to files, but not to directories: those could form a
// loop.
func (g *gatherer) isManifest(path string, entry fs.DirEntry) bool {
	if entry.Type()&fs.ModeSymlink != 0 {
		info, err := os.Stat(path)
		switch {
		case err == nil && info.IsDir():
			g.rep.skip(path, "is a link to a directory, which isn't followed: name it with -f")
			return false
		case err == nil && !info.Mode().IsRegular():
			g.rep.skip(path, "is a link to no file: reading it could block forever")
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
			// If the command before a pipe failed, the input is empty. That must not look like success.
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

// plainError drops the path, since the report names it already.
func plainError(err error) string {
	var at *fs.PathError
	if errors.As(err, &at) {
		err = at.Err
	}
	return "can't be read: " + err.Error()
}
