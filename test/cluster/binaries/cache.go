package binaries

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"
)

// CacheVariable names the environment variable that moves the cache.
const CacheVariable = "SVC_LB_MUX_CACHE"

// Cache is a folder of finished builds.
type Cache struct {
	Dir      string
	Source   string // the folder test/cluster of a checkout
	Progress Progress
}

// Open finds the user's cache and the checkout that the working directory is in.
func Open() (Cache, error) {
	dir := os.Getenv(CacheVariable)
	if dir == "" {
		user, err := os.UserCacheDir()
		if err != nil {
			return Cache{}, fmt.Errorf("no place for the binaries: %w: set %s to a folder", err, CacheVariable)
		}
		dir = filepath.Join(user, "svc-lb-mux")
	}
	dir, err := filepath.Abs(dir) // builds run in their modules' folders
	if err != nil {
		return Cache{}, fmt.Errorf("find the cache %s: %w", dir, err)
	}
	if _, err := exec.LookPath("go"); err != nil {
		return Cache{}, fmt.Errorf("everything is built with go: %w: install Go, or add its bin folder to PATH", err)
	}
	source, err := findSource()
	if err != nil {
		return Cache{}, err
	}
	return Cache{Dir: dir, Source: source, Progress: Stderr()}, nil
}

// findSource walks up from the working directory: tests run in their package's folder, people anywhere.
func findSource() (string, error) {
	start, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for dir := start; ; dir = filepath.Dir(dir) {
		source := filepath.Join(dir, "test", "cluster")
		if _, err := os.Stat(filepath.Join(source, "binaries", "kubernetes", "go.mod")); err == nil {
			return source, nil
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("%s is not inside a checkout of svc-lb-mux: change into one", start)
		}
	}
}

// Need returns the folder of each product's build. It builds missing products.
func (c Cache) Need(ctx context.Context, products ...Product) (map[string]string, error) {
	dirs := make(map[string]string, len(products))
	for _, p := range products {
		dir, err := c.need(ctx, p)
		if err != nil {
			return nil, err
		}
		dirs[p.Name] = dir
	}
	return dirs, nil
}

func (c Cache) need(ctx context.Context, p Product) (string, error) {
	key, err := c.key(p)
	if err != nil {
		return "", err
	}
	dir := filepath.Join(c.Dir, fmt.Sprintf("%s-%s-%s", p.Name, p.Version, key))
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	if err := os.MkdirAll(c.Dir, 0o755); err != nil {
		return "", fmt.Errorf("make the cache folder: %w: set %s to a folder you can write to", err, CacheVariable)
	}
	unlock, err := c.lock(ctx, p)
	if err != nil {
		return "", err
	}
	defer unlock()
	if _, err := os.Stat(dir); err == nil {
		return dir, nil // another process built it meanwhile
	}
	return dir, c.build(ctx, p, dir)
}

// lock ensures one builder per product. The kernel releases the lock when a builder dies, however it dies.
func (c Cache) lock(ctx context.Context, p Product) (unlock func(), err error) {
	file, err := os.OpenFile(filepath.Join(c.Dir, p.Name+".lock"), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fmt.Errorf("lock the cache: %w: set %s to a folder you can write to", err, CacheVariable)
	}
	if tryLock(file) {
		return func() { _ = file.Close() }, nil
	}
	done := c.Progress.Begin("waiting for another build of "+p.String(), "")
	defer done("over")
	for {
		select {
		case <-ctx.Done():
			return nil, errors.Join(ctx.Err(), file.Close())
		case <-time.After(200 * time.Millisecond):
		}
		if tryLock(file) {
			return func() { _ = file.Close() }, nil
		}
	}
}

func tryLock(file *os.File) bool {
	return syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil
}

// key names a build by everything on which its bytes depend.
func (c Cache) key(p Product) (string, error) {
	hash := sha256.New()
	fmt.Fprintln(hash, runtime.Version(), runtime.GOOS, runtime.GOARCH, p.pkg, p.goArguments(p.pkg, "OUT"))
	fmt.Fprintln(hash, p.binary, slices.Concat(p.links, p.more), p.copies)
	root := filepath.Join(c.Source, p.folder)
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !p.dependsOn(entry.Name()) {
			return err
		}
		data, err := os.ReadFile(path)
		fmt.Fprintf(hash, "%s %d\n%s", strings.TrimPrefix(path, root), len(data), data)
		return err
	})
	if err != nil {
		return "", fmt.Errorf("read the sources of %s: %w", p, err)
	}
	return hex.EncodeToString(hash.Sum(nil))[:12], nil
}

// dependsOn returns false for tests, for modfiles of other versions and for editors' files: changes to them cause no
// rebuild.
func (p Product) dependsOn(file string) bool {
	module := strings.TrimSuffix(p.modfile, ".mod")
	if module == "" {
		module = "go"
	}
	switch filepath.Ext(file) {
	case ".go":
		return !strings.HasSuffix(file, "_test.go")
	case ".mod", ".sum":
		return strings.TrimSuffix(strings.TrimSuffix(file, ".mod"), ".sum") == module
	default:
		return false
	}
}
