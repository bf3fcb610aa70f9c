package host

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestMain(m *testing.M) {
	Reexec()
	switch os.Getenv("HOST_TEST_PART") {
	case "victim":
		victim()
	case "stranger":
		stranger()
	}
	os.Exit(m.Run())
}

func start(t *testing.T) *Host {
	t.Helper()
	h, err := Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	})
	return h
}

func run(t *testing.T, h *Host, args ...string) (string, error) {
	t.Helper()
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	p, err := h.Run(Command{Args: args, Stdout: write, Stderr: write})
	_ = write.Close()
	if err != nil {
		return "", err
	}
	out, err := io.ReadAll(read)
	return string(out), errors.Join(err, p.Wait(t.Context()))
}

func TestHostIsApart(t *testing.T) {
	h := start(t)
	links, err := run(t, h, "/bin/ls", "/sys/class/net", "/run")
	if err != nil {
		t.Fatalf("%v\n%s", err, links)
	}
	routes, err := run(t, h, "/bin/cat", "/proc/net/dev")
	if err != nil || strings.Contains(routes, "eth0") || !strings.Contains(routes, "lo:") {
		t.Errorf("the host shares this machine's network: %v\n%s", err, routes)
	}
	processes, err := run(t, h, "/bin/cat", "/proc/1/cmdline")
	if err != nil || !strings.HasPrefix(processes, "svc-lb-mux-init") {
		t.Errorf("process 1 isn't the host's init: %v %q", err, processes)
	}
}

func TestSocketsBelongToTheNetworkTheyWereMadeIn(t *testing.T) {
	h, other := start(t), start(t)
	if out, err := run(t, h, "/sbin/ip", "netns", "add", "side"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	listener, err := h.Listen("", "tcp", "127.0.0.1:7000")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			fmt.Fprint(conn, "hello")
			_ = conn.Close()
		}
	}()
	conn, err := h.Dial(t.Context(), "", "tcp", "127.0.0.1:7000")
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if said, err := io.ReadAll(conn); err != nil || string(said) != "hello" {
		t.Errorf("got %q, %v", said, err)
	}
	t.Run("a dial ends with its context", func(t *testing.T) {
		ended, end := context.WithCancel(t.Context())
		end()
		if _, err := h.Dial(ended, "", "tcp", "127.0.0.1:7000"); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	})
	for name, dial := range map[string]func() (net.Conn, error){
		"from outside":           func() (net.Conn, error) { return net.Dial("tcp", "127.0.0.1:7000") },
		"from another host":      func() (net.Conn, error) { return other.Dial(t.Context(), "", "tcp", "127.0.0.1:7000") },
		"from another namespace": func() (net.Conn, error) { return h.Dial(t.Context(), "side", "tcp", "127.0.0.1:7000") },
		"from a missing namespace": func() (net.Conn, error) {
			return h.Dial(t.Context(), "nowhere", "tcp", "127.0.0.1:7000")
		},
		"to a closed port":      func() (net.Conn, error) { return h.Dial(t.Context(), "", "tcp", "127.0.0.1:7001") },
		"on an unknown network": func() (net.Conn, error) { return h.Dial(t.Context(), "", "tin", "127.0.0.1:7000") },
	} {
		if conn, err := dial(); err == nil {
			_ = conn.Close()
			t.Errorf("%s: a connection was made", name)
		}
	}
}

func TestProcesses(t *testing.T) {
	h := start(t)
	t.Run("an exit code comes back", func(t *testing.T) {
		_, err := run(t, h, "/bin/sh", "-c", "exit 7")
		var exit *ExitError
		if !errors.As(err, &exit) || exit.Code != 7 {
			t.Errorf("got %v", err)
		}
	})
	t.Run("the error names a missing program", func(t *testing.T) {
		if _, err := run(t, h, "/no/such/program"); err == nil || !strings.Contains(err.Error(), "/no/such/program") {
			t.Errorf("got %v", err)
		}
	})
	t.Run("a process is killed if the wait's context ends", func(t *testing.T) {
		p, err := h.Run(Command{Args: []string{"/bin/sleep", "600"}})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		defer cancel()
		if err := p.Wait(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("a signal ends a process", func(t *testing.T) {
		p, err := h.Run(Command{Args: []string{"/bin/sleep", "600"}})
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		var exit *ExitError
		if err := p.Wait(t.Context()); !errors.As(err, &exit) || exit.Signal != syscall.SIGTERM {
			t.Errorf("got %v", err)
		}
	})
	t.Run("orphans are reaped", func(t *testing.T) {
		if out, err := run(t, h, "/bin/sh", "-c", "for i in 1 2 3; do (/bin/sleep 0.01 &) ; done"); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		eventually(t, "no zombie is left", func() bool {
			out, _ := run(t, h, "/bin/sh", "-c", "cat /proc/[0-9]*/stat")
			return !strings.Contains(out, "(sleep)")
		})
	})
}

// victim starts a host, and is killed before it can clean up.
func victim() {
	h, err := Start()
	if err == nil {
		_, err = h.Run(Command{Args: []string{"/bin/sleep", "98765"}})
	}
	if err != nil {
		exit(err)
	}
	fmt.Println(h.Dir)
	select {}
}

func TestKilledOwnerLeavesNothingOfItsHost(t *testing.T) {
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), "HOST_TEST_PART=victim")
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	dir, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	dir = strings.TrimSpace(dir)
	if len(processesOf("98765")) == 0 {
		t.Fatal("the victim's process isn't found while the host runs")
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	eventually(t, "its processes are gone", func() bool {
		return len(processesOf(dir))+len(processesOf("98765")) == 0
	})
	eventually(t, "its folder is gone", func() bool {
		_, err := os.Stat(dir)
		return errors.Is(err, os.ErrNotExist)
	})
	for _, hierarchy := range hierarchies() {
		if _, err := os.Stat(filepath.Join(hierarchy, cgroupOf(dir))); err == nil {
			t.Errorf("cgroup %s is left in %s", cgroupOf(dir), hierarchy)
		}
	}
}

func TestSweepRemovesOnlyAbandonedHosts(t *testing.T) {
	alive := start(t)
	dead := filepath.Join(Root(), "dead-for-a-test")
	if err := os.MkdirAll(dead, 0o700); err != nil {
		t.Fatal(err)
	}
	makeCgroups(cgroupOf(dead))
	if err := os.WriteFile(filepath.Join(dead, "lock"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Sweep(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(dead); err == nil {
		t.Errorf("%s still exists", dead)
	}
	if _, err := os.Stat(alive.Dir); err != nil {
		t.Errorf("a running host was swept: %v", err)
	}
}

func TestKilledKeeperLeavesNothing(t *testing.T) {
	h := start(t)
	_ = h.keeper.Process.Kill()
	<-h.Gone()
	if err := h.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(h.Dir); err == nil {
		t.Errorf("%s is left", h.Dir)
	}
	for _, hierarchy := range hierarchies() {
		if _, err := os.Stat(filepath.Join(hierarchy, cgroupOf(h.Dir))); err == nil {
			t.Errorf("cgroup %s is left in %s", cgroupOf(h.Dir), hierarchy)
		}
	}
}

func TestSignalToAnEndingProcessIsHarmless(t *testing.T) {
	h := start(t)
	for i := range 300 {
		p, err := h.Run(Command{Args: []string{"/bin/true"}})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(i%30) * 100 * time.Microsecond)
		if err := p.Signal(syscall.SIGTERM); err != nil {
			t.Fatalf("signal %d: %v", i, err)
		}
		var exit *ExitError
		if err := p.Wait(t.Context()); err != nil && !errors.As(err, &exit) {
			t.Fatalf("wait %d: %v", i, err)
		}
	}
}

// ends runs a process that ends soon by itself, and waits for its end.
func ends(t *testing.T, h *Host, command Command) error {
	ctx, cancel := context.WithTimeoutCause(t.Context(), time.Minute, errors.New("the end of the process isn't reported"))
	defer cancel()
	p, err := h.Run(command)
	if err != nil {
		return err
	}
	var exit *ExitError
	if err := p.Wait(ctx); !errors.As(err, &exit) || exit.Code != 7 {
		return fmt.Errorf("%v: %w, want exit code 7", command.Args, err)
	}
	return nil
}

func TestEndOfAHostsFirstProcessIsReported(t *testing.T) {
	var starters sync.WaitGroup
	for range 4 { // more than processors, so that init is preempted at any point
		starters.Go(func() {
			for range 25 {
				h, err := Start()
				if err == nil {
					err = errors.Join(ends(t, h, Command{Args: []string{"/bin/sh", "-c", "exit 7"}}), h.Close())
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	starters.Wait()
}

func TestEndOfEachOfThousandsOfProcessesIsReported(t *testing.T) {
	h := start(t)
	nets := []string{"", "one", "two", "three"}
	for _, name := range nets[1:] {
		if out, err := run(t, h, "/sbin/ip", "netns", "add", name); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	commands := []string{
		"exit 7",
		"ip -batch - <<'END'\nlink set lo up\nEND\nexit 7",
		"(/bin/sleep 0.01 &); exit 7", // leaves an orphan to init
	}
	var starters sync.WaitGroup
	for first := range 8 {
		starters.Go(func() {
			for i := range 250 {
				err := ends(t, h, Command{Args: []string{"/bin/sh", "-c", commands[(first+i)%len(commands)]},
					Net: nets[i%len(nets)]})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	starters.Wait()
}

// stranger tries to start a host while every user may write to the hosts' folder: Start must refuse. It uses its own
// /tmp, so that other tests' hosts keep their folders.
func stranger() {
	exit(errors.Join(unix.Mount("tmpfs", "/tmp", "tmpfs", 0, ""), os.Mkdir(Root(), 0o700), os.Chmod(Root(), 0o777),
		func() error {
			_, err := Start()
			return err
		}()))
}

func TestFolderThatOthersCanWriteToIsRefused(t *testing.T) {
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), "HOST_TEST_PART=stranger")
	cmd.SysProcAttr = namespaces()
	cmd.SysProcAttr.Unshareflags = syscall.CLONE_NEWNS // keeps its mounts private
	out, err := cmd.CombinedOutput()
	if err == nil || !strings.Contains(string(out), Root()+" is no folder that belongs to you alone") {
		t.Errorf("a folder that every user can write to: %v %s", err, out)
	}
}

// processesOf lists the processes whose command line holds a word.
func processesOf(word string) []string {
	var found []string
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range files {
		if line, err := os.ReadFile(file); err == nil && strings.Contains(string(line), word) {
			found = append(found, filepath.Base(filepath.Dir(file)))
		}
	}
	return found
}

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for range 200 {
		if ok() {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Errorf("not true after 10 s: %s", what)
}
