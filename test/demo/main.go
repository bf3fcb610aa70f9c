package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"nowake.ai/svc-lb-mux/test/cluster/host"
)

func main() {
	host.Reexec()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second Ctrl-C kills the demo at once
	o, err := parse(os.Args[1:])
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err == nil {
		err = run(ctx, o, newPrinter(os.Stdout))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

type options struct {
	nodes    int
	chart    string
	gateways bool
}

func parse(args []string) (options, error) {
	var o options
	flags := flag.NewFlagSet("demo", flag.ContinueOnError)
	flags.IntVar(&o.nodes, "nodes", defaultNodes(), "real `nodes` that run pods: 1, which needs root, or 0")
	flags.BoolVar(&o.gateways, "gateways", false, "show gateways on three nodes in place of a provider; needs root")
	flags.StringVar(&o.chart, "chart", "charts/svc-lb-mux", "the chart to install: a `folder` or a package")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if flags.NArg() > 0 {
		return o, fmt.Errorf("it takes no %q: -h tells what it takes", flags.Arg(0))
	}
	if o.nodes < 0 || o.nodes > 1 {
		return o, fmt.Errorf("-nodes=%d: it shows what one node, or none, can show", o.nodes)
	}
	if o.gateways {
		o.nodes = gatewayNodes
	}
	if o.nodes > 0 && os.Getuid() != 0 {
		return o, fmt.Errorf("-nodes=%d: a node runs containers, which needs root here: use sudo, or -nodes=0", o.nodes)
	}
	return o, nil
}

func defaultNodes() int {
	if os.Getuid() == 0 {
		return 1
	}
	return 0
}
