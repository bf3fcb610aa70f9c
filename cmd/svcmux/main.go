// Command svcmux is the command line of svc-lb-mux. Named kubectl-svcmux, it is a plugin: kubectl svcmux. It reads
// muxes and channels from clusters and files, and prints what the packages of the webhook and the reconciler decide
// about them. Each command is a package:
//
//	cli/         what all commands share: streams, exit codes, colours, tables
//	kube/        kubectl's flags, the client, its errors as sentences, completion
//	manifest/    Services as files to apply
//	validate/    files without a cluster
//	look/        what commands about muxes read and print
//	status/, ports/, explain/  muxes, their numbers, and the chain to the pods
//	changes/     the effect of files; dryrun/ carries out plans on a copy of the cluster
//	doctor/      whether an installation is healthy
//	snapshot/    a file with which the others work elsewhere; archive/ is its format
//	survey/      which load balancers of a cluster could become one
//	top/         live in the terminal
//	tcpservices/ import from ingress-nginx
//	versions/    releases of this program and of what a cluster runs
package main

import (
	"context"
	"os"
	"os/signal"

	"nowake.ai/svc-lb-mux/cmd/internal/version"
	"nowake.ai/svc-lb-mux/cmd/svcmux/cli"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	os.Exit(run(ctx, os.Args[1:], cli.Env{
		Program: program(os.Args[0]), Version: version.String(),
		In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Getenv: os.Getenv,
	}))
}
