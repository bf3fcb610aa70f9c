package host

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"syscall"
	"time"
)

// keep is the keeper's main function. It clones init into new namespaces, and waits until the lifeline or init ends.
// Then it removes what the kernel doesn't remove itself: cgroups and the folder.
func keep(dir string) error {
	// Init dies with the thread that cloned it (Pdeathsig), so that thread must live as long as the keeper.
	runtime.LockOSThread()
	standFirm()
	lifeline, report := inherited(3, "lifeline"), inherited(4, "report")
	lock, err := holdLock(dir)
	if err != nil {
		fmt.Fprint(report, err)
		return err
	}
	defer lock.Close()
	inside := exec.Command("/proc/self/exe")
	inside.Args = []string{"svc-lb-mux-init", dir}
	inside.Env = append(os.Environ(), roleVariable+"=init")
	if os.Getuid() == 0 {
		inside.Env = append(inside.Env, rootVariable+"=1")
	}
	inside.ExtraFiles = []*os.File{report}
	inside.Stderr = os.Stderr
	inside.SysProcAttr = namespaces()
	inside.SysProcAttr.Pdeathsig = syscall.SIGKILL
	makeCgroups(cgroupOf(dir))
	if err := inside.Start(); err != nil {
		fmt.Fprintf(report, "clone a process into namespaces of its own: %v", err)
		return errors.Join(err, sweep(dir))
	}
	_ = report.Close()
	_ = os.WriteFile(filepath.Join(dir, "init.pid"), fmt.Appendf(nil, "%d", inside.Process.Pid), 0o600)
	go func() {
		_, _ = io.Copy(io.Discard, lifeline) // returns when the other end is closed, because no data is written
		_ = inside.Process.Kill()
	}()
	_ = inside.Wait()
	return sweep(dir)
}

// holdLock marks the host as alive. The file is renamed into place after it is locked, so that no process ever sees it
// unlocked while the keeper lives.
func holdLock(dir string) (*os.File, error) {
	path := filepath.Join(dir, "lock")
	lock, err := os.Create(path + ".new")
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(fmt.Errorf("lock %s: %w", lock.Name(), err), lock.Close())
	}
	return lock, os.Rename(lock.Name(), path)
}

// standFirm catches the signals that end a program, and drops them. It doesn't ignore them, because children inherit
// ignored signals and would never end by SIGTERM.
func standFirm() {
	signal.Notify(make(chan os.Signal, 1), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
}

// namespaces are the host's new namespaces. root gets no user namespace: container runtimes need the real one.
func namespaces() *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS | syscall.CLONE_NEWPID | syscall.CLONE_NEWNET |
		syscall.CLONE_NEWUTS | syscall.CLONE_NEWIPC}
	if uid := os.Getuid(); uid != 0 {
		attr.Cloneflags |= syscall.CLONE_NEWUSER
		attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: uid, Size: 1}}
		attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
	}
	return attr
}

// Sweep removes the leftovers of hosts whose keeper died before it could clean up, for example in a power cut. It
// returns the removed folders.
func Sweep() ([]string, error) {
	if err := checkRoot(); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	dirs, _ := filepath.Glob(filepath.Join(Root(), "*"))
	var swept []string
	var errs []error
	for _, dir := range dirs {
		if !abandoned(dir) {
			continue
		}
		if err := sweep(dir); err != nil {
			errs = append(errs, fmt.Errorf("remove what is left of %s: %w", dir, err))
			continue
		}
		swept = append(swept, dir)
	}
	return swept, errors.Join(errs...)
}

// Running returns this user's running hosts, sorted by name.
func Running() []*Host {
	dirs, _ := filepath.Glob(filepath.Join(Root(), "*"))
	var running []*Host
	for _, dir := range dirs {
		if _, err := os.Stat(filepath.Join(dir, "init.pid")); err == nil && !abandoned(dir) {
			running = append(running, &Host{Dir: dir})
		}
	}
	return running
}

// abandoned recognizes a dead host's folder by its lock, which the kernel has released. A folder without a lock is a
// host that just starts, unless the folder is old.
func abandoned(dir string) bool {
	lock, err := os.Open(filepath.Join(dir, "lock"))
	if err != nil {
		info, err := os.Stat(dir)
		return err == nil && time.Since(info.ModTime()) > time.Minute
	}
	defer lock.Close()
	return syscall.Flock(int(lock.Fd()), syscall.LOCK_SH|syscall.LOCK_NB) == nil
}

// sweep removes the folder last: as long as it exists, a later Sweep finds the cgroups by its name.
func sweep(dir string) error {
	if err := removeCgroups(dir); err != nil {
		return err
	}
	return os.RemoveAll(dir)
}
