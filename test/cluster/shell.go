package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"nowake.ai/svc-lb-mux/test/cluster/host"
)

// shell replaces this process by a shell in a running cluster's namespaces. It uses nsenter: a Go program has several
// threads, and so can't enter a user namespace.
func shell(args []string) error {
	flags := flag.NewFlagSet("shell", flag.ContinueOnError)
	network := flags.String("in", host.MainNet, "network `namespace` to be in: main, outside, node-1, …")
	if err := parse(flags, args, 1); err != nil {
		return err
	}
	h, err := choose(flags.Args())
	if err != nil {
		return err
	}
	nsenter, err := exec.LookPath("nsenter")
	if err != nil {
		return fmt.Errorf("%w: install it with `sudo apt-get install -y util-linux`", err)
	}
	pid, err := os.ReadFile(filepath.Join(h.Dir, "init.pid"))
	if err != nil {
		return fmt.Errorf("cluster %s: %w", h.Name(), err)
	}
	command := []string{nsenter, "--target", string(pid), "--mount", "--pid", "--uts", "--ipc"}
	if os.Getuid() != 0 {
		command = append(command, "--user", "--preserve-credentials")
	}
	// The second nsenter finds the network's name in the mounts that the first one entered.
	command = append(command, nsenter, "--net=/run/netns/"+*network)
	here, err := os.Getwd()
	if err != nil {
		return err
	}
	// nsenter goes to / in the other mount namespace. Files are the same there, so the shell can stay in the user's
	// folder.
	command = append(command, "/bin/sh", "-c", `cd "$0" && exec "$@"`, here)
	command = append(command, shellProgram()...)
	environment := append(os.Environ(), "KUBECONFIG="+filepath.Join(h.Dir, "pki", "admin.kubeconfig"),
		"PATH="+filepath.Join(h.Dir, "bin")+":"+os.Getenv("PATH")+":/usr/sbin:/sbin")
	return syscall.Exec(nsenter, command, environment)
}

func shellProgram() []string {
	if program := os.Getenv("SHELL"); program != "" {
		return []string{program}
	}
	return []string{"/bin/sh"}
}

// choose returns the running cluster, or the one with the given name.
func choose(args []string) (*host.Host, error) {
	running := host.Running()
	var names []string
	for _, h := range running {
		if len(args) == 1 && args[0] == h.Name() {
			return h, nil
		}
		names = append(names, h.Name())
	}
	switch {
	case len(running) == 0:
		return nil, fmt.Errorf("no cluster of yours runs: start one with `go run ./test/cluster up`")
	case len(args) == 1:
		return nil, fmt.Errorf("no cluster %q runs: there is %s", args[0], strings.Join(names, ", "))
	case len(running) > 1:
		return nil, fmt.Errorf("%d clusters run: say which, as in `go run ./test/cluster shell %s`; there is %s",
			len(running), names[0], strings.Join(names, ", "))
	default:
		return running[0], nil
	}
}
