package keep

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"nowake.ai/svc-lb-mux/balancer/want"
)

const (
	fileName = "state"
	nextName = "state.next"
	format   = "svc-lb-mux-gateway-state"
	version  = 1
)

// State is what an agent knew when it ran last.
type State struct {
	// Gateway and Pool are the agent's. A state of another gateway or pool isn't used.
	Gateway string
	Pool    string
	// Wanted is what the last decision wanted.
	Wanted *want.Wanted
	// Tables are the tables that the kernel took, if it refused some or all parts of the wanted ones. Empty Tables mean
	// that the kernel's tables aren't known.
	Tables *want.Tables `json:",omitempty"`
}

// Applied returns the tables that the kernel took.
func (s *State) Applied() *want.Tables {
	if s.Tables != nil {
		return s.Tables
	}
	return &s.Wanted.Tables
}

// Directory is where the state is.
type Directory string

// Load returns the state; nil if there is no file. If the file can't be used, the error says why.
func (d Directory) Load(gateway, pool string) (*State, error) {
	path := filepath.Join(string(d), fileName)
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the state of before: %w", err)
	}
	s, err := decode(text)
	if err == nil && (s.Gateway != gateway || s.Pool != pool) {
		err = fmt.Errorf("it is of gateway %q in pool %q, not of gateway %q in pool %q", s.Gateway, s.Pool, gateway, pool)
	}
	if err != nil {
		return nil, fmt.Errorf("file %s isn't used: %w: the agent starts without it, and replaces it once the API server "+
			"answers", path, err)
	}
	return s, nil
}

// Save replaces the state.
func (d Directory) Save(s *State) error {
	text, err := encode(s)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(string(d), 0o700); err != nil {
		return fmt.Errorf("make the state directory: %w", err)
	}
	next := filepath.Join(string(d), nextName)
	if err := writeSynced(next, text); err != nil {
		return fmt.Errorf("save the state: %w", err)
	}
	if err := os.Rename(next, filepath.Join(string(d), fileName)); err != nil {
		return fmt.Errorf("save the state: %w", err)
	}
	return d.sync()
}

// Remove removes the state. The directory itself stays.
func (d Directory) Remove() error {
	var failed []error
	for _, name := range []string{fileName, nextName} {
		if err := os.Remove(filepath.Join(string(d), name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			failed = append(failed, fmt.Errorf("remove the state: %w", err))
		}
	}
	return errors.Join(failed...)
}

func writeSynced(path string, text []byte) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(text)
	return errors.Join(err, file.Sync(), file.Close())
}

// sync makes the rename survive a power cut.
func (d Directory) sync() error {
	directory, err := os.Open(string(d))
	if err != nil {
		return fmt.Errorf("sync the state directory: %w", err)
	}
	if err := errors.Join(directory.Sync(), directory.Close()); err != nil {
		return fmt.Errorf("sync the state directory: %w", err)
	}
	return nil
}

func encode(s *State) ([]byte, error) {
	body, err := json.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("write the state as JSON: %w", err)
	}
	return append(fmt.Appendf(nil, "%s %d %x\n", format, version, sha256.Sum256(body)), body...), nil
}

func decode(text []byte) (*State, error) {
	head, body, _ := bytes.Cut(text, []byte("\n"))
	var kind, sum string
	var number int
	if _, err := fmt.Sscanf(string(head), "%s %d %s", &kind, &number, &sum); err != nil || kind != format {
		return nil, errors.New("it doesn't begin as a state does")
	}
	if number != version {
		return nil, fmt.Errorf("it has version %d, and this agent knows version %d", number, version)
	}
	if sum != fmt.Sprintf("%x", sha256.Sum256(body)) {
		return nil, errors.New("its checksum is wrong: it was cut off or edited")
	}
	s := &State{}
	if err := json.Unmarshal(body, s); err != nil {
		return nil, fmt.Errorf("it isn't the JSON of a state: %w", err)
	}
	if s.Wanted == nil {
		return nil, errors.New("it says nothing about tables")
	}
	return s, nil
}
