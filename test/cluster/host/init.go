package host

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// machine is init's state: the processes it started, and the channels for their exit statuses.
type machine struct {
	mu      sync.Mutex
	waiting map[int]chan syscall.WaitStatus
}

// serve is init's main function. It mounts private file systems, answers calls, and reaps processes.
func serve(dir string) error {
	report := inherited(3, "report")
	m := &machine{waiting: map[int]chan syscall.WaitStatus{}}
	listener, err := m.prepare(dir)
	if err != nil {
		fmt.Fprintf(report, "%v", err)
		return err
	}
	for _, variable := range []string{roleVariable, dirVariable, rootVariable} {
		_ = os.Unsetenv(variable)
	}
	standFirm()
	// Request the signal before any call: otherwise the death of an early child would be noticed only with the next
	// child's. A caller that waits for the first child may never start a second.
	deaths := make(chan os.Signal, 1)
	signal.Notify(deaths, syscall.SIGCHLD)
	go m.bury(deaths)
	fmt.Fprint(report, "ready")
	_ = report.Close()
	for {
		conn, err := listener.AcceptUnix()
		if err != nil {
			return fmt.Errorf("accept calls: %w", err)
		}
		go m.answer(conn)
	}
}

func (m *machine) prepare(dir string) (*net.UnixListener, error) {
	if err := mountOwn(); err != nil {
		return nil, err
	}
	_ = syscall.Sethostname([]byte(filepath.Base(dir)))
	if err := loopbackUp(); err != nil {
		return nil, err
	}
	return net.ListenUnix("unixpacket", &net.UnixAddr{Name: socketPath(dir), Net: "unixpacket"})
}

// mountOwn gives the host its own /proc, for its own process IDs, and a private empty /run in memory. Network
// namespaces, container state and sockets of the host are in /run, and disappear with the host.
func mountOwn() error {
	mounts := []struct {
		source, target, kind string
		flags                uintptr
	}{
		{"none", "/", "", unix.MS_REC | unix.MS_PRIVATE},
		{"proc", "/proc", "proc", unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC},
		{"tmpfs", "/run", "tmpfs", unix.MS_NOSUID},
		{"none", "/run", "", unix.MS_SHARED}, // shared, so that the kubelet sees containers' mounts below it
	}
	for _, mount := range mounts {
		if err := unix.Mount(mount.source, mount.target, mount.kind, mount.flags, ""); err != nil {
			return fmt.Errorf("mount %s on %s: %w", mount.source, mount.target, err)
		}
	}
	err := errors.Join(os.Mkdir("/run/netns", 0o755), os.Mkdir("/run/lock", 0o755), nameMainNet())
	if os.Getenv(rootVariable) == "" {
		return err
	}
	return errors.Join(err, overlayVar())
}

// nameMainNet gives the first network namespace a name, like the others. /proc/1/ns/net can't name it: that is the
// namespace of init's first thread, which may have changed.
func nameMainNet() error {
	file, err := os.Create("/run/netns/" + MainNet)
	if err != nil {
		return err
	}
	if err := unix.Mount("/proc/thread-self/ns/net", file.Name(), "", unix.MS_BIND, ""); err != nil {
		return errors.Join(fmt.Errorf("name the main network namespace: %w", err), file.Close())
	}
	return file.Close()
}

// overlayVar stores in memory what container runtimes write below /var: logs and CNI's cache.
func overlayVar() error {
	if err := errors.Join(os.Mkdir("/run/var", 0o755), os.Mkdir("/run/var.work", 0o755)); err != nil {
		return err
	}
	if err := unix.Mount("overlay", "/var", "overlay", 0,
		"lowerdir=/var,upperdir=/run/var,workdir=/run/var.work"); err != nil {
		return fmt.Errorf("mount an overlay on /var: %w", err)
	}
	return nil
}

func loopbackUp() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	lo, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	lo.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	if err := unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, lo); err != nil {
		return fmt.Errorf("set the loopback device up: %w", err)
	}
	return nil
}

// bury reaps every child: those we started, and orphans that PID 1 adopts.
func (m *machine) bury(deaths <-chan os.Signal) {
	for range deaths {
		for m.buryOne() {
		}
	}
}

func (m *machine) buryOne() bool {
	// Hold the mutex during the wait, so that a child that dies at once isn't reaped before it is registered.
	m.mu.Lock()
	defer m.mu.Unlock()
	var status syscall.WaitStatus
	pid, err := syscall.Wait4(-1, &status, syscall.WNOHANG, nil)
	if pid <= 0 || err != nil {
		return errors.Is(err, syscall.EINTR)
	}
	if waiting, ours := m.waiting[pid]; ours {
		waiting <- status
		delete(m.waiting, pid)
	}
	return true
}
