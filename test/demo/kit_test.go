package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// program is the path of the demo, built once for all tests.
var program string

func TestMain(m *testing.M) {
	os.Exit(func() int {
		folder, err := os.MkdirTemp("", "demo-test-")
		if err != nil {
			panic(err)
		}
		defer os.RemoveAll(folder)
		program = filepath.Join(folder, "demo")
		if out, err := exec.Command("go", "build", "-o", program, ".").CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "build the demo: %v\n%s", err, out)
			return 1
		}
		return m.Run()
	}())
}

// demo is a demo that runs as a separate process, as users run it.
type demo struct {
	cmd            *exec.Cmd
	stdout, stderr safeBuffer
	scratch        string // the folder of all its temporary files
	done           chan struct{}
}

// safeBuffer is a buffer that a test can read while a process writes to it.
type safeBuffer struct {
	mu     sync.Mutex
	buffer bytes.Buffer
}

func (b *safeBuffer) Write(data []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buffer.Write(data)
}

func (b *safeBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buffer.String()
}

func startDemo(t *testing.T, env []string, args ...string) *demo {
	t.Helper()
	d := &demo{cmd: exec.Command(program, args...), scratch: t.TempDir(), done: make(chan struct{})}
	d.cmd.Dir = filepath.Join("..", "..")
	d.cmd.Env = append(append(os.Environ(), "TMPDIR="+d.scratch), env...)
	d.cmd.Stdout, d.cmd.Stderr = &d.stdout, &d.stderr
	if err := d.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.cmd.Process.Kill() })
	go func() {
		_ = d.cmd.Wait() // its exit code is in ProcessState
		close(d.done)
	}()
	return d
}

func (d *demo) said() string { return d.stdout.String() }

// await waits until the demo has printed the words.
func (d *demo) await(t *testing.T, words string) {
	t.Helper()
	for deadline := time.Now().Add(5 * time.Minute); !strings.Contains(d.said(),
		words); time.Sleep(50 * time.Millisecond) {
		select {
		case <-d.done:
			t.Fatalf("the demo ended before it printed %q:\n%s\n%s", words, d.said(), d.stderr.String())
		default:
		}
		if time.Now().After(deadline) {
			t.Fatalf("the demo doesn't print %q:\n%s\n%s", words, d.said(), d.stderr.String())
		}
	}
}

// end sends a Ctrl-C and waits for the end.
func (d *demo) end(t *testing.T, code int, stderr string) {
	t.Helper()
	if err := d.cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	d.ended(t, code, stderr)
}

// ended checks that the demo ends with an exit code and a sentence, and leaves nothing behind.
func (d *demo) ended(t *testing.T, code int, stderr string) {
	t.Helper()
	select {
	case <-d.done:
	case <-time.After(5 * time.Minute):
		t.Fatalf("the demo doesn't end:\n%s\n%s", d.said(), d.stderr.String())
	}
	if got := d.cmd.ProcessState.ExitCode(); got != code {
		t.Errorf("the exit code is %d, want %d:\n%s", got, code, d.stderr.String())
	}
	if got := d.stderr.String(); !strings.Contains(got, stderr) || stderr == "" && got != "" {
		t.Errorf("standard error is %q, want %q", got, stderr)
	}
	left, err := os.ReadDir(d.scratch)
	if err != nil || len(left) > 0 {
		t.Errorf("temporary files are left behind: %v, %v", left, err)
	}
	// The cluster's folder is printed near the end, if the demo came that far.
	if folder := regexp.MustCompile(`/tmp/svc-lb-mux-[0-9]+/[0-9]+`).FindString(d.said()); folder != "" {
		if _, err := os.Stat(folder); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the cluster's folder %s is left behind: %v", folder, err)
		}
	}
	for _, process := range d.processes(t) {
		t.Errorf("a process still runs: %s", process)
	}
}

// processes returns the processes of the cluster's host. It recognises them by the environment they started with.
func (d *demo) processes(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, file := range files {
		environment, err := os.ReadFile(file)
		if err != nil || !strings.Contains(string(environment), "TMPDIR="+d.scratch) {
			continue
		}
		command, err := os.ReadFile(filepath.Join(filepath.Dir(file), "cmdline"))
		if err == nil && len(command) > 0 {
			found = append(found, strings.ReplaceAll(string(command), "\x00", " "))
		}
	}
	return found
}
