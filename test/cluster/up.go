package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"nowake.ai/svc-lb-mux/test/cluster/binaries"
	"nowake.ai/svc-lb-mux/test/cluster/cluster"
)

func up(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("up", flag.ContinueOnError)
	nodes := flags.Int("nodes", defaultNodes(), "real `nodes` that run pods (root only)")
	fakes := flags.Int("fake-nodes", 0, "`nodes` that kwok plays, 250 pods each")
	iptables := flags.Bool("iptables", false, "kube-proxy programs iptables, not nftables")
	certManager := flags.Bool("cert-manager", false,
		"cert-manager: from its own chart if there are nodes, else beside the control plane")
	audit := flags.Bool("audit", false, "log every API request")
	images := flags.String("images", "", "archives of images that every node gets, such as "+
		"`dist/webhook.tar,dist/reconciler.tar` of make image")
	if err := parse(flags, args, 0); err != nil {
		return err
	}
	if *nodes < 0 || *nodes > cluster.MaxNodes || *fakes < 0 || *fakes > cluster.MaxFakeNodes {
		return fmt.Errorf("up: -nodes=%d and -fake-nodes=%d: there is room for 0 to %d and 0 to %d",
			*nodes, *fakes, cluster.MaxNodes, cluster.MaxFakeNodes)
	}
	if *nodes > 0 && os.Getuid() != 0 {
		return fmt.Errorf("up -nodes=%d: real nodes run containers, which needs root here: use sudo, or -nodes=0", *nodes)
	}
	archives, err := archivesOf(*images, *nodes)
	if err != nil {
		return err
	}
	options := []cluster.Option{cluster.WithProvider(), cluster.Nodes(*nodes, archives...)}
	for option, wanted := range map[*bool]cluster.Option{
		iptables: cluster.IPTables(), certManager: cluster.CertManager(), audit: cluster.Audit(),
	} {
		if *option {
			options = append(options, wanted)
		}
	}
	if *fakes > 0 {
		options = append(options, cluster.Kwok())
	}
	started := time.Now()
	c, err := cluster.Up(ctx, options...)
	if err != nil {
		return err
	}
	if err := c.AddFakeNodes(ctx, *fakes); err != nil {
		return errors.Join(err, c.Close())
	}
	if err := announce(c, out, time.Since(started)); err != nil {
		return errors.Join(err, c.Close())
	}
	select {
	case <-ctx.Done():
		fmt.Fprintln(out, "\nending the cluster")
	case <-c.Host.Gone():
		err = errors.New("the cluster ended by itself: its host is gone")
	}
	return errors.Join(err, c.Close())
}

// archivesOf returns the absolute paths of the archives: the cluster's programs run in another folder.
func archivesOf(list string, nodes int) ([]string, error) {
	if list == "" {
		return nil, nil
	}
	if nodes == 0 {
		return nil, fmt.Errorf("up -images=%s: there is no node to import them: run as root with -nodes=1", list)
	}
	var archives []string
	for path := range strings.SplitSeq(list, ",") {
		path, err := filepath.Abs(path)
		if err == nil {
			_, err = os.Stat(path)
		}
		if err != nil {
			return nil, fmt.Errorf("up -images=%s: %w: make image writes such files", list, err)
		}
		archives = append(archives, path)
	}
	return archives, nil
}

func defaultNodes() int {
	if os.Getuid() == 0 {
		return 1
	}
	return 0
}

// announce prints how to use the cluster.
func announce(c *cluster.Cluster, out io.Writer, took time.Duration) error {
	if len(c.Nodes()) == 0 {
		fmt.Fprintln(out, "No node here runs pods: real ones need root, and -nodes.")
	}
	path, err := c.Kubeconfig()
	if err != nil {
		return err
	}
	version, err := c.Client.Discovery().ServerVersion()
	if err != nil {
		return fmt.Errorf("ask the cluster for its version: %w", err)
	}
	_, err = fmt.Fprintf(out, `Kubernetes %s is up after %.1f s. In another terminal:

  export KUBECONFIG=%s
  export PATH=%s:$PATH

or, inside its network, where Services and load balancers answer:

  go run ./test/cluster shell %s

Ctrl-C ends it.
`, version.GitVersion, took.Seconds(), path, c.BinDir(), c.Host.Name())
	return err
}

func build(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("build", flag.ContinueOnError)
	all := flags.Bool("all", false, "everything else that tests run too, not only Kubernetes")
	if err := parse(flags, args, 0); err != nil {
		return err
	}
	products := []binaries.Product{binaries.Pod()}
	if *all {
		products = append(products, binaries.Kwok(), binaries.CertManager(), binaries.Helm3(), binaries.Helm4(),
			binaries.Flux(), binaries.Argo(), binaries.Cilium())
	}
	dirs, err := cluster.Binaries(ctx, products...)
	if err != nil {
		return err
	}
	for _, name := range []string{"kubernetes", "pod", "kwok", "certmanager", "helm3", "helm4", "flux", "argo", "cilium"} {
		if dir, ok := dirs[name]; ok {
			fmt.Fprintln(out, dir)
		}
	}
	return nil
}
