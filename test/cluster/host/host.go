package host

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// Host is a running machine, either ours or another process's (Open).
type Host struct {
	// Dir has the same path inside and outside, and is removed with the host.
	Dir string

	keeper   *exec.Cmd
	lifeline io.Closer
	gone     chan struct{}
}

// roleVariable is the role of a re-executed process, dirVariable its host's folder. rootVariable says whether the
// host's root is the machine's root, which containers need.
const (
	roleVariable = "SVC_LB_MUX_HOST_ROLE"
	dirVariable  = "SVC_LB_MUX_HOST_DIR"
	rootVariable = "SVC_LB_MUX_HOST_ROOT"
)

// MainNet is the name of a host's first network namespace. In calls it may be empty.
const MainNet = "main"

// Reexec must be the first call of main or TestMain. It returns at once, unless this process was started as a host's
// keeper or init: then it runs that role, and exits.
func Reexec() {
	role, dir := os.Getenv(roleVariable), os.Getenv(dirVariable)
	switch role {
	case "":
		return
	case "keeper":
		exit(keep(dir))
	case "init":
		exit(serve(dir))
	case "probe":
		exit(nil)
	default:
		exit(fmt.Errorf("unknown role %q in %s", role, roleVariable))
	}
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// Root is the folder of all hosts of this user.
func Root() string { return filepath.Join("/tmp", fmt.Sprintf("svc-lb-mux-%d", os.Getuid())) }

// checkRoot refuses a folder that another user may have prepared. Every user can write to /tmp, but files in a host's
// folder are run, trusted, and removed at the end.
func checkRoot() error {
	info, err := os.Lstat(Root())
	if err != nil {
		return err
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok || !info.IsDir() || int(stat.Uid) != os.Getuid() || info.Mode().Perm()&0o022 != 0 {
		return fmt.Errorf("%s is no folder that belongs to you alone (%s): remove it, or let its owner remove it",
			Root(), info.Mode())
	}
	return nil
}

// Start starts a new host. It lives until Close, or until this process ends.
func Start() (*Host, error) {
	if err := allowed(); err != nil {
		return nil, err
	}
	if err := os.Mkdir(Root(), 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("make a place for the host: %w", err)
	}
	if _, err := Sweep(); err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(Root(), "")
	if err != nil {
		return nil, fmt.Errorf("make a folder for the host: %w", err)
	}
	h := &Host{Dir: dir, gone: make(chan struct{})}
	if err := h.launch(); err != nil {
		return nil, errors.Join(err, h.Close(), os.RemoveAll(dir))
	}
	return h, nil
}

// errNoWord is the reason if the failed process printed its error itself.
var errNoWord = errors.New("see above")

// launch starts the keeper, and waits until init answers. The keeper reads the other end of the lifeline, which is
// closed when this process ends, even by SIGKILL.
func (h *Host) launch() error {
	read, lifeline, err := os.Pipe()
	if err != nil {
		return err
	}
	defer read.Close()
	ready, report, err := os.Pipe()
	if err != nil {
		return errors.Join(err, lifeline.Close())
	}
	defer ready.Close()
	h.lifeline = lifeline
	h.keeper = exec.Command("/proc/self/exe")
	h.keeper.Args = []string{"svc-lb-mux-keeper", h.Dir}
	h.keeper.Env = append(os.Environ(), roleVariable+"=keeper", dirVariable+"="+h.Dir)
	h.keeper.ExtraFiles = []*os.File{read, report}
	h.keeper.Stderr = os.Stderr
	// A terminal sends Ctrl-C to the whole process group. The keeper must survive it, in order to clean up.
	h.keeper.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := h.keeper.Start(); err != nil {
		return errors.Join(fmt.Errorf("start the host's keeper: %w", err), report.Close())
	}
	go func() {
		_ = h.keeper.Wait() // the keeper has printed its error
		close(h.gone)
	}()
	_ = report.Close()
	_ = ready.SetReadDeadline(time.Now().Add(30 * time.Second))
	word, err := io.ReadAll(ready)
	if err != nil || string(word) != "ready" {
		return fmt.Errorf("the host did not start: %s: %w", strings.TrimSpace(string(word)), cmp.Or(err, errNoWord))
	}
	return nil
}

// Close ends the host and its processes, and returns when nothing is left of it.
func (h *Host) Close() error {
	if h.lifeline == nil {
		return nil
	}
	_ = h.lifeline.Close()
	if h.keeper.Process == nil {
		return nil
	}
	select {
	case <-h.gone:
		// The keeper has done this already, unless it was killed.
		return sweep(h.Dir)
	case <-time.After(30 * time.Second):
		return fmt.Errorf("host %s: its keeper (pid %d) still cleans up after 30 s", h.Dir, h.keeper.Process.Pid)
	}
}

// Name returns a name that is unique among this machine's hosts.
func (h *Host) Name() string { return filepath.Base(h.Dir) }

// Gone returns a channel that is closed when the host has ended.
func (h *Host) Gone() <-chan struct{} { return h.gone }

// allowed returns an error with a remedy if this machine can't run a host.
func allowed() error {
	probe := exec.Command("/proc/self/exe")
	probe.Env = append(os.Environ(), roleVariable+"=probe")
	probe.SysProcAttr = namespaces()
	if err := probe.Start(); err != nil && os.Getuid() == 0 {
		return fmt.Errorf("root may not make namespaces here: %w: a container needs --privileged, or at least "+
			"--cap-add SYS_ADMIN,NET_ADMIN", err)
	} else if err != nil {
		return fmt.Errorf("no user namespaces for uid %d: %w: run as root, or allow them with "+
			"`sysctl -w kernel.unprivileged_userns_clone=1 user.max_user_namespaces=10000` (and on Ubuntu "+
			"`kernel.apparmor_restrict_unprivileged_userns=0`)", os.Getuid(), err)
	}
	_ = probe.Wait() // only the clone was tested
	return nil
}
