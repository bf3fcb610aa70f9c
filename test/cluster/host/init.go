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

// machine is what init holds: the processes that it started, so that their ends find the one who waits.
type machine struct {
	mu      sync.Mutex
	waiting map[int]chan syscall.WaitStatus
}

// serve is init: it mounts what must be private, answers calls, and buries the dead.
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
	// Asked for before anybody may call: the death of a child that nobody was told of would be noticed with the next
	// one's, and whoever waits for the first one starts no second.
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

// mountOwn gives the host its own /proc (for its own process numbers) and an empty, private /run: network
// namespaces, container state and sockets of the host live there, in memory, and vanish with it.
func mountOwn() error {
	mounts := []struct {
		source, target, kind string
		flags                uintptr
	}{
		{"none", "/", "", unix.MS_REC | unix.MS_PRIVATE},
		{"proc", "/proc", "proc", unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC},
		{"tmpfs", "/run", "tmpfs", unix.MS_NOSUID},
		{"none", "/run", "", unix.MS_SHARED}, // containers' mounts below it reach the kubelet
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

// nameMainNet gives the first network namespace a name like the others. /proc/1/ns/net is no way to it: that is
// where init's first thread happens to be.
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

// overlayVar keeps what container runtimes write below /var (logs, CNI's cache) in the host's memory.
func overlayVar() error {
	if err := errors.Join(os.Mkdir("/run/var", 0o755), os.Mkdir("/run/var.work", 0o755)); err != nil {
		return err
	}
	if err := unix.Mount("overlay", "/var", "overlay", 0, "lowerdir=/var,upperdir=/run/var,workdir=/run/var.work"); err != nil {
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

// bury reaps every child: our own, and the orphans that fall to PID 1.
func (m *machine) bury(deaths <-chan os.Signal) {
	for range deaths {
		for m.buryOne() {
		}
	}
}

func (m *machine) buryOne() bool {
	// Held over the wait, so that a child that dies at once isn't buried before it is registered.
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
