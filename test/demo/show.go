package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"nowake.ai/svc-lb-mux/test/cluster/binaries"
	"nowake.ai/svc-lb-mux/test/cluster/cluster"
	"nowake.ai/svc-lb-mux/test/product"
)

// version is the tag of the images that the demo builds: the chart's appVersion before any release.
const version = "devel"

// namespace holds the release and the mux.
const namespace = "svc-mux"

// show is one run of the demo.
type show struct {
	printer
	options options
	root    string // the checkout: commands run there
	scratch string // for built files, removed at the end
	// gatewayAPI is the folder of the Gateway API's module, once it is needed.
	gatewayAPI string
	cluster    *cluster.Cluster
}

// run shows all parts, waits until ctx ends, and always clears up, also after a failure.
func run(ctx context.Context, o options, p printer) (err error) {
	s := &show{printer: p, options: o}
	if s.root, err = checkout(); err != nil {
		return err
	}
	if s.scratch, err = os.MkdirTemp("", "svc-lb-mux-demo-"); err != nil {
		return fmt.Errorf("make a folder to build in: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(s.scratch)) }()
	begun := time.Now()
	err = s.begin(ctx)
	if s.cluster != nil {
		defer func() { err = errors.Join(err, s.cluster.Close()) }()
	}
	if err == nil {
		err = s.parts(ctx)
	}
	if ctx.Err() != nil {
		return errors.New("interrupted; nothing is left of it")
	}
	if err != nil {
		return err
	}
	return s.stay(ctx, time.Since(begun))
}

// begin starts the cluster. Package binaries builds the missing programs and prints its progress.
func (s *show) begin(ctx context.Context) error {
	kubernetes, err := binaries.KubernetesVersion()
	if err != nil {
		return err
	}
	begun := time.Now()
	s.heading("Webhook, reconciler and command line, built from this checkout")
	patience := time.AfterFunc(15*time.Second, func() { s.text("  with cold caches this takes some minutes") })
	var more []string
	if s.options.gateways {
		more = append(more, "gateway")
	}
	archive, err := product.Build(ctx, s.scratch, version, more...)
	if err == nil {
		_, err = product.CommandLine(ctx, s.scratch, version)
	}
	patience.Stop()
	if err != nil {
		return err
	}
	s.took(begun)

	begun = time.Now()
	s.heading(fmt.Sprintf("A cluster: Kubernetes %s, cert-manager %s, %s", kubernetes, binaries.CertManagerVersion,
		s.nodes()))
	s.cluster, err = cluster.Up(ctx, s.clusterOptions(archive)...)
	if err != nil {
		return err
	}
	s.took(begun)
	return s.linkCommandLine()
}

func (s *show) parts(ctx context.Context) error {
	parts := []func(context.Context) error{s.install, s.apply, s.refuse, s.topology, s.visit, s.look, s.route}
	if s.options.gateways {
		parts = []func(context.Context) error{s.makeGateways, s.install, s.reserveGateways, s.apply, s.topology, s.visit,
			s.outage}
	}
	for _, part := range parts {
		if err := part(ctx); err != nil {
			return err
		}
	}
	return nil
}

// typed prints a command, runs it in the checkout, and prints its output.
func (s *show) typed(ctx context.Context, command string) error {
	s.command(command)
	said, err := s.shell(ctx, command)
	s.text(said)
	return err
}

// shell runs a command, and returns its whole output.
func (s *show) shell(ctx context.Context, command string) (string, error) {
	out, err := s.cluster.Run(ctx, cluster.Program{
		Args: []string{"/bin/sh", "-c", "cd \"$CHECKOUT\" && {\n" + command + "\n} 2>&1"},
		Env:  []string{"CHECKOUT=" + s.root, "GATEWAY_API=" + s.gatewayAPI}})
	if err != nil {
		return out.Stdout, fmt.Errorf("this failed: %s\n%s", command, strings.TrimRight(out.Stdout, "\n"))
	}
	return out.Stdout, nil
}

func (s *show) apply(ctx context.Context) error {
	begun := time.Now()
	s.heading("Two apps, each with a Service that is a channel of the mux")
	if err := s.typed(ctx, "kubectl apply --filename test/demo/apps.yaml"); err != nil {
		return err
	}
	if err := s.typed(ctx, "kubectl wait service --selector=example=apps --all-namespaces --timeout=60s \\\n"+
		"  --for=condition=svc-mux.nowake.ai/Programmed"); err != nil {
		return err
	}
	err := s.typed(ctx, "kubectl wait deployment --selector=example=apps --all-namespaces --timeout=60s "+
		"--for=condition=Available")
	s.took(begun)
	return err
}

// refuse runs a command that must fail.
func (s *show) refuse(ctx context.Context) error {
	s.heading("A channel with a mistake")
	const command = "kubectl apply --filename test/demo/bad.yaml"
	s.command(command)
	said, err := s.shell(ctx, command)
	if err == nil {
		return errors.New("a channel with a mistake was not refused: " + said)
	}
	if !strings.Contains(said, "htpp") {
		return err
	}
	s.text(said)
	return nil
}

// visit fetches a page from each app from outside of the cluster.
func (s *show) visit(ctx context.Context) error {
	s.heading("A page of each app, fetched from outside of the cluster")
	rows, err := s.rows(ctx)
	if err != nil {
		return err
	}
	client := s.cluster.Outside().HTTP()
	for _, row := range rows {
		url := "http://" + row.address + ":" + row.number()
		s.command("curl " + url)
		var page string
		// Nodes learn of a new port a moment after its channel is programmed.
		err := patiently(ctx, func() (err error) { page, err = get(ctx, client, url); return err })
		if err != nil {
			return fmt.Errorf("the app of %s doesn't answer: %w", row.channel, err)
		}
		s.text(page)
	}
	return nil
}

func get(ctx context.Context, client *http.Client, url string) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	response, err := client.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s answered %s: %s", url, response.Status, body)
	}
	return string(body), err
}

// checkout returns the folder of the sources, as package product finds it.
func checkout() (string, error) {
	chart, err := product.Chart()
	return filepath.Dir(filepath.Dir(chart)), err
}

// patiently retries for half a minute.
func patiently(ctx context.Context, try func() error) error {
	for deadline := time.Now().Add(30 * time.Second); ; {
		err := try()
		if err == nil || time.Now().After(deadline) || ctx.Err() != nil {
			return err
		}
		time.Sleep(50 * time.Millisecond)
	}
}
