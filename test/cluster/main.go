// Command cluster runs a real Kubernetes for a person to try out.
//
//	go run ./test/cluster up      starts one, prints the KUBECONFIG line, ends it at Ctrl-C
//	go run ./test/cluster shell   opens a shell inside one that runs
//	go run ./test/cluster build   builds what a cluster runs, and does nothing else
//	go run ./test/cluster gc      removes what a power cut may have left of one
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"nowake.ai/svc-lb-mux/test/cluster/host"
)

const usage = `usage: go run ./test/cluster VERB [flags]

  up      start a cluster, print its KUBECONFIG line, and end it at Ctrl-C
  shell   open a shell in the network of a cluster that runs
  build   build what clusters run into the cache, and nothing else
  gc      remove what a power cut may have left of a cluster

VERB -h tells its flags. K8S_VERSION selects another Kubernetes, SVC_LB_MUX_CACHE another cache.
`

func main() {
	host.Reexec()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second Ctrl-C kills the program at once
	err := run(ctx, os.Args[1:], os.Stdout)
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
		return
	case errors.Is(err, errUsage):
		fmt.Fprint(os.Stderr, err, "\n\n", usage)
		os.Exit(2)
	default:
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

var errUsage = errors.New("not understood")

func run(ctx context.Context, args []string, out io.Writer) error {
	if len(args) == 0 {
		return fmt.Errorf("%w: no verb given", errUsage)
	}
	verb, args := args[0], args[1:]
	switch verb {
	case "up":
		return up(ctx, args, out)
	case "shell":
		return shell(args)
	case "build":
		return build(ctx, args, out)
	case "gc":
		return gc(args, out)
	case "help", "-h", "--help":
		fmt.Fprint(out, usage)
		return nil
	default:
		return fmt.Errorf("%w: no verb %q", errUsage, verb)
	}
}

// parse parses a verb's flags, and at most the given number of arguments. Errors are printed with the usage.
func parse(flags *flag.FlagSet, args []string, words int) error {
	flags.SetOutput(io.Discard) // main prints errors
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		flags.SetOutput(os.Stdout)
		flags.Usage()
		return err
	} else if err != nil {
		return fmt.Errorf("%w: %w", errUsage, err)
	}
	if flags.NArg() > words {
		return fmt.Errorf("%w: %s takes no %q", errUsage, flags.Name(), flags.Arg(words))
	}
	return nil
}

func gc(args []string, out io.Writer) error {
	if err := parse(flag.NewFlagSet("gc", flag.ContinueOnError), args, 0); err != nil {
		return err
	}
	swept, err := host.Sweep()
	for _, dir := range swept {
		fmt.Fprintln(out, "removed", dir)
	}
	if len(swept) == 0 && err == nil {
		fmt.Fprintln(out, "nothing was left behind")
	}
	return err
}
