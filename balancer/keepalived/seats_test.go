package keepalived

import (
	"context"
	"errors"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"nowake.ai/svc-lb-mux/balancer/announce"
	"nowake.ai/svc-lb-mux/balancer/want"
)

// listener runs a program called keepalived that counts the signals to read its files again. It returns the count.
func listener(t *testing.T, folder string) (count func() int) {
	t.Helper()
	heard, program := filepath.Join(folder, "heard"), filepath.Join(folder, "keepalived")
	script := "#!/bin/sh\ntrap 'echo x >> " + heard + "' HUP\ntouch " + heard + "\nwhile :; do sleep 0.05; done\n"
	if err := os.WriteFile(program, []byte(script), 0o700); err != nil { //nolint:gosec // it is a program
		t.Fatal(err)
	}
	// under nohup the signal is ignored, and a shell couldn't hear it
	command := exec.Command("env", "--default-signal=HUP", program)
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = command.Process.Kill(); _ = command.Wait() })
	if err := os.WriteFile(filepath.Join(folder, "pid"), []byte(strconv.Itoa(command.Process.Pid)), 0o600); err != nil {
		t.Fatal(err)
	}
	count = func() int {
		text, err := os.ReadFile(heard)
		if err != nil {
			return -1
		}
		return strings.Count(string(text), "x")
	}
	for range 200 {
		if count() == 0 {
			return count
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatal("the program doesn't run")
	return nil
}

// TestKeepalivedThatWasStartingIsToldAgain: until keepalived has set up its signal handlers, it misses the signal that
// its file has changed.
func TestKeepalivedThatWasStartingIsToldAgain(t *testing.T) {
	folder := t.TempDir()
	count, pid := listener(t, folder), filepath.Join(folder, "pid")
	k := New(Options{Interface: "lo", Group: "lb/p", Config: filepath.Join(folder, "svc-lb-mux.conf"), PID: pid})
	k.text = config(&k.Options, []want.Seat{seat()}, false)
	looks := func(when string, times int) {
		t.Helper()
		for range 3 {
			k.look(nil)
			for wait := 0; count() < times && wait < 500; wait++ { // until the signal is heard
				time.Sleep(10 * time.Millisecond)
			}
		}
		if got := count(); got != times {
			t.Errorf("%s: told %d times, want %d", when, got, times)
		}
	}
	looks("while it starts", 1)
	old := time.Now().Add(-2 * starting)
	if err := os.Chtimes(pid, old, old); err != nil {
		t.Fatal(err)
	}
	looks("once it runs", 2)
	k.text += "# another\n"
	looks("after a change", 3)
}

// While the interface's addresses aren't known, the file must not move the adverts to IPv6.
func TestFileStaysWhileAddressesCannotBeListed(t *testing.T) {
	folder := t.TempDir()
	k := New(Options{Interface: "lo", Group: "lb/p", Config: filepath.Join(folder, "svc-lb-mux.conf"),
		PID: filepath.Join(folder, "pid")})
	ended, cancel := context.WithCancel(t.Context())
	cancel() // Set doesn't wait for keepalived
	k.list = func() ([]announce.Assigned, error) { return nil, errors.New("no buffer") }
	if err := k.Set(ended, []want.Seat{seat()}); err == nil || errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if text, err := os.ReadFile(k.Config); err == nil {
		t.Errorf("without a list of addresses, the file says:\n%s", text)
	}
	k.list = func() ([]announce.Assigned, error) {
		return []announce.Assigned{{Address: netip.MustParseAddr("10.0.0.1"), Interface: announce.Index("lo")}}, nil
	}
	_ = k.Set(ended, []want.Seat{seat()})
	text, err := os.ReadFile(k.Config)
	if diff := cmp.Diff(config(&k.Options, []want.Seat{seat()}, false), string(text)); err != nil || diff != "" {
		t.Errorf("%v, (-want +got):\n%s", err, diff)
	}
}
