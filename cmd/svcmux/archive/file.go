package archive

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"nowake.ai/svc-lb-mux/cmd/svcmux/cli"
)

// Write writes the file: gzip, with a line of JSON for the header and for each object.
func (a *Archive) Write(to io.Writer) error {
	packed := gzip.NewWriter(to)
	lines := json.NewEncoder(packed)
	lines.SetEscapeHTML(false)
	if err := lines.Encode(a.Header); err != nil {
		return err
	}
	for _, object := range a.Objects {
		if err := lines.Encode(object); err != nil {
			return err
		}
	}
	return packed.Close()
}

// Open reads a file.
func Open(path string) (*Archive, error) {
	file, err := os.Open(path) //nolint:gosec // the user names the file
	if err != nil {
		return nil, fmt.Errorf("the snapshot can't be read: %w: name another file with --snapshot", err)
	}
	defer file.Close() //nolint:errcheck // it was only read
	a, err := Read(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", cli.Shown(path), err)
	}
	return a, nil
}

// Read reads the contents of a file.
func Read(from io.Reader) (*Archive, error) {
	unpacked, err := gzip.NewReader(bufio.NewReader(from))
	if err != nil {
		return nil, notSnapshot(err)
	}
	lines := json.NewDecoder(unpacked)
	lines.UseNumber()
	a := &Archive{}
	if err := lines.Decode(&a.Header); err != nil {
		return nil, notSnapshot(err)
	}
	if a.Schema != Schema {
		return nil, fmt.Errorf("its format is %s, and this program reads %s: use svcmux %s, or take a new snapshot",
			cli.Shown(a.Schema), Schema, cli.Shown(a.Release))
	}
	for {
		object := Object{}
		err := lines.Decode(&object)
		if errors.Is(err, io.EOF) {
			return a, nil
		}
		if err != nil {
			return nil, notSnapshot(err)
		}
		a.Objects = append(a.Objects, object)
	}
}

// notSnapshot explains an error of a file.
func notSnapshot(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, gzip.ErrChecksum) {
		return errors.New("the snapshot isn't complete, or damaged: copy the file again, or take a new snapshot")
	}
	return errors.New("this isn't a snapshot: svcmux snapshot FILE takes one")
}
