package host

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// Cgroup makes a control group for the host's containers in every hierarchy, and returns its path.
func (h *Host) Cgroup(name string) string {
	path := filepath.Join(cgroupOf(h.Dir), name)
	makeCgroups(path)
	return path
}

func cgroupOf(dir string) string { return "/svc-lb-mux/" + filepath.Base(dir) }

// hierarchies are the roots of control groups: one folder per controller (v1), or one for all (v2).
func hierarchies() []string {
	const root = "/sys/fs/cgroup"
	if _, err := os.Stat(filepath.Join(root, "cgroup.controllers")); err == nil {
		return []string{root}
	}
	dirs, _ := filepath.Glob(filepath.Join(root, "*"))
	return slices.DeleteFunc(dirs, func(dir string) bool {
		info, err := os.Lstat(dir)
		return err != nil || !info.IsDir()
	})
}

// makeCgroups makes a group and its parents, each usable for processes and for more groups. It ignores errors: without
// root there are no nodes, and nothing else needs a cgroup.
func makeCgroups(path string) {
	if os.Getuid() != 0 {
		return
	}
	for _, hierarchy := range hierarchies() {
		// The last host removes the group of all hosts, possibly just now: then it is created again.
		for range 10 {
			if err := makeCgroup(hierarchy, path); !errors.Is(err, fs.ErrNotExist) {
				break
			}
		}
	}
}

func makeCgroup(hierarchy, path string) (err error) {
	group := hierarchy
	for name := range strings.SplitSeq(strings.Trim(path, "/"), "/") {
		handDown(group)
		group = filepath.Join(group, name)
		err = os.Mkdir(group, 0o755)
		inheritCpuset(group)
	}
	return err
}

// handDown enables every controller of a v2 group for the groups below. v1 has no such file.
func handDown(group string) {
	controllers, err := os.ReadFile(filepath.Join(group, "cgroup.controllers"))
	if err != nil {
		return
	}
	for controller := range strings.FieldsSeq(string(controllers)) {
		_ = os.WriteFile(filepath.Join(group, "cgroup.subtree_control"), []byte("+"+controller), 0)
	}
}

// inheritCpuset fills a v1 cpuset: a new one is empty and accepts no process.
func inheritCpuset(group string) {
	for _, file := range []string{"cpuset.cpus", "cpuset.mems"} {
		if parent, err := os.ReadFile(filepath.Join(filepath.Dir(group), file)); err == nil {
			_ = os.WriteFile(filepath.Join(group, file), parent, 0)
		}
	}
}

// removeCgroups removes the host's groups, children first. The kernel needs a moment to release a group whose last
// process was just killed.
func removeCgroups(dir string) error {
	var err error
	for range 100 {
		if err = tryRemoveCgroups(dir); err == nil {
			return nil
		}
		time.Sleep(50 * time.Millisecond)
	}
	return err
}

func tryRemoveCgroups(dir string) error {
	for _, hierarchy := range hierarchies() {
		var groups []string
		top := filepath.Join(hierarchy, cgroupOf(dir))
		_ = filepath.WalkDir(top, func(path string, entry fs.DirEntry, err error) error {
			if err == nil && entry.IsDir() {
				groups = append(groups, path)
			}
			return nil
		})
		for _, group := range slices.Backward(groups) {
			if err := syscall.Rmdir(group); err != nil && !os.IsNotExist(err) {
				return err
			}
		}
		_ = syscall.Rmdir(filepath.Dir(top)) // succeeds only for the last host
	}
	return nil
}
