// Package cmd_test tests the binaries of `make build`: they know their version, need no libraries, and are identical
// wherever they are built.
package cmd_test

import (
	"bytes"
	"debug/buildinfo"
	"debug/elf"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const testVersion = "v1.2.3-test"

func commands() []string { return []string{"gateway", "reconciler", "svcmux", "webhook"} }

// needs returns a part of the message that a command prints without arguments.
func needs(command string) string {
	switch command {
	case "webhook":
		return "--default-mux-namespace is empty"
	case "reconciler":
		return "--kubeconfig (KUBECONFIG) is empty"
	}
	return "Usage:"
}

func TestBuiltBinaries(t *testing.T) {
	bin := makeBuild(t, "..")

	t.Run("a build in another folder gives the same bytes", func(t *testing.T) { isReproducible(t, bin) })
	t.Run("the reconciler has no LDAP client", func(t *testing.T) { hasNoLDAP(t, filepath.Join(bin, "reconciler")) })
	for _, name := range commands() {
		t.Run(name+" reports the version that make was given", func(t *testing.T) {
			var stderr bytes.Buffer
			cmd := exec.Command(filepath.Join(bin, name), "--version")
			cmd.Stderr = &stderr
			stdout, err := cmd.Output()
			if want := name + " " + testVersion + "\n"; err != nil || string(stdout) != want || stderr.Len() > 0 {
				t.Errorf("stdout %q, stderr %q, error %v; want only %q", stdout, &stderr, err, want)
			}
		})
		t.Run(name+" without its required options exits 2 with a message", func(t *testing.T) {
			cmd := exec.Command(filepath.Join(bin, name))
			cmd.Env = []string{"HOME=" + t.TempDir()}
			out, err := cmd.CombinedOutput()
			var exit *exec.ExitError
			if !errors.As(err, &exit) || exit.ExitCode() != 2 || !strings.Contains(string(out), needs(name)) {
				t.Errorf("output %q, error %v; want exit code 2 and a reason", out, err)
			}
		})
		t.Run(name+" is static", func(t *testing.T) {
			file, err := elf.Open(filepath.Join(bin, name))
			if err != nil {
				t.Fatal(err)
			}
			defer file.Close()
			for _, prog := range file.Progs {
				if prog.Type == elf.PT_INTERP || prog.Type == elf.PT_DYNAMIC {
					t.Errorf("has a %v segment: it would need a loader, which an image from scratch lacks", prog.Type)
				}
			}
		})
	}
}

// hasNoLDAP fails if a program contains an LDAP module. cert-manager's package pki depends on such modules, and our
// code never calls them.
func hasNoLDAP(t *testing.T, program string) {
	t.Helper()
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	if len(info.Deps) == 0 {
		t.Fatalf("%s names no modules", program)
	}
	for _, module := range info.Deps {
		for _, part := range []string{"ldap", "ntlm", "asn1-ber"} {
			if strings.Contains(module.Path, part) {
				t.Errorf("%s is built of %s", program, module.Path)
			}
		}
	}
}

// isReproducible fails if a build in another folder gives other bytes.
func isReproducible(t *testing.T, here string) {
	elsewhere := t.TempDir()
	copyTree(t, "..", elsewhere)

	there := makeBuild(t, elsewhere)
	for _, name := range commands() {
		if !bytes.Equal(read(t, here, name), read(t, there, name)) {
			t.Errorf("%s: two builds of one tree in two folders differ", name)
		}
	}
}

// makeBuild runs `make build` in a tree, and returns the folder of its binaries.
func makeBuild(t *testing.T, tree string) string {
	t.Helper()
	bin := t.TempDir()
	cmd := exec.Command("make", "build", "BIN="+bin, "VERSION="+testVersion)
	cmd.Dir = tree
	for _, pair := range os.Environ() {
		// A surrounding make passes its flags and variables on, which this build must not use.
		if name, _, _ := strings.Cut(pair, "="); !strings.HasPrefix(name, "MAKE") && name != "MFLAGS" {
			cmd.Env = append(cmd.Env, pair)
		}
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("make build: %v\n%s", err, out)
	}

	return bin
}

// copyTree copies the files that a build reads, without the repository and built files.
func copyTree(t *testing.T, from, to string) {
	t.Helper()
	err := filepath.WalkDir(from, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		switch {
		case rel == ".git" && !entry.IsDir(): // a worktree
			return nil
		case rel == ".git" || rel == "bin" || rel == "dist" || rel == "test":
			return fs.SkipDir
		case entry.IsDir():
			return os.MkdirAll(filepath.Join(to, rel), 0o755)
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}

		return os.WriteFile(filepath.Join(to, rel), data, 0o644)
	})
	if err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, elem ...string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(elem...))
	if err != nil {
		t.Fatal(err)
	}

	return data
}
