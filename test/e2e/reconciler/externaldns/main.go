// Command externaldns prints the DNS records that external-dns wants, with external-dns's own flags, defaults and
// sources.
//
//	KUBECONFIG=FILE externaldns --namespace=svc-mux
//
// The DNS providers are missing: external-dns would compare these records with those of a provider, and with the policy
// sync delete the others.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"sigs.k8s.io/external-dns/endpoint"
	"sigs.k8s.io/external-dns/pkg/apis/externaldns"
	"sigs.k8s.io/external-dns/pkg/apis/externaldns/validation"
	"sigs.k8s.io/external-dns/source"
	"sigs.k8s.io/external-dns/source/annotations"
	"sigs.k8s.io/external-dns/source/wrappers"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	config := externaldns.NewConfig()
	args := []string{"--source=service", "--provider=inmemory", "--policy=sync", "--kubeconfig=" + os.Getenv("KUBECONFIG")}
	if err := config.ParseFlags(append(args, os.Args[1:]...)); err != nil {
		return err
	}
	if err := validation.ValidateConfig(config); err != nil {
		return err
	}
	annotations.SetAnnotationPrefix(config.AnnotationPrefix)
	sources, err := source.NewSourceConfig(config)
	if err != nil {
		return err
	}
	all, err := wrappers.Build(ctx, sources)
	if err != nil {
		return err
	}
	wanted, err := all.Endpoints(ctx)
	if err != nil {
		return err
	}
	slices.SortFunc(wanted, func(a, b *endpoint.Endpoint) int { return strings.Compare(a.DNSName, b.DNSName) })
	encoder := json.NewEncoder(os.Stdout)
	encoder.SetIndent("", "  ")
	return encoder.Encode(wanted)
}
