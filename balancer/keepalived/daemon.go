package keepalived

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// starting is how long keepalived may miss signals after it has written its process ID.
const starting = 3 * time.Second

// isYoung is true if keepalived has just started.
func isYoung(pidFile string) bool {
	info, err := os.Stat(pidFile)
	return err == nil && time.Since(info.ModTime()) < starting
}

// replace writes a file beside the present one, and renames it.
func replace(path, text string) error {
	next := filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".next")
	if err := os.WriteFile(next, []byte(text),
		0o644); err != nil { //nolint:gosec // keepalived's files are readable by all, and this one has no secret
		return err
	}
	return os.Rename(next, path)
}

// processError says that keepalived doesn't run.
type processError struct{ text string }

func (e *processError) Error() string { return e.text }

// process returns keepalived's process ID.
func process(pidFile string) (int, error) {
	absent := func(why string) (int, error) {
		return 0, &processError{fmt.Sprintf("keepalived doesn't run (%s): start it, for example with systemctl start "+
			"keepalived", why)}
	}
	text, err := os.ReadFile(pidFile)
	if err != nil {
		return absent(err.Error())
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil || pid <= 1 {
		return absent(fmt.Sprintf("%s says %q", pidFile, strings.TrimSpace(string(text))))
	}
	if name, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid)); err != nil ||
		strings.TrimSpace(string(name)) != "keepalived" {
		return absent(fmt.Sprintf("process %d of %s isn't keepalived", pid, pidFile))
	}
	return pid, nil
}

// signal makes keepalived read its files again.
func signal(pidFile string) error {
	pid, err := process(pidFile)
	if err != nil {
		return err
	}
	if err := syscall.Kill(pid, syscall.SIGHUP); err != nil {
		return fmt.Errorf("have keepalived, process %d, read its files again: %w", pid, err)
	}
	return nil
}

// Remove removes our file. It makes keepalived read its files again, and so take the addresses off. It is no error if
// keepalived doesn't run.
func Remove(configFile, pidFile string) error {
	switch err := os.Remove(configFile); {
	case errors.Is(err, os.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("remove the file for keepalived: %w", err)
	}
	var absent *processError
	if err := signal(pidFile); err != nil && !errors.As(err, &absent) {
		return err
	}
	return nil
}
