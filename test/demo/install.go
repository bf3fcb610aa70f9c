package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"nowake.ai/svc-lb-mux/test/cluster/cluster"
	"nowake.ai/svc-lb-mux/test/product"
)

func (s *show) nodes() string {
	switch {
	case s.options.gateways:
		return "three nodes on one network, no provider of load balancers"
	case s.options.nodes == 0:
		return "no node, a provider of load balancers"
	}
	return "a node, a provider of load balancers"
}

func (s *show) clusterOptions(archive string) []cluster.Option {
	options := []cluster.Option{cluster.CertManager(), cluster.Helm()}
	if !s.options.gateways {
		options = append(options, cluster.WithProvider())
	}
	if s.options.nodes == 0 {
		return append(options, cluster.Kwok())
	}
	return append(options, cluster.Nodes(s.options.nodes, archive))
}

// install installs the chart. This mux is no cloud's load balancer, so the chart's annotation for a cloud is switched
// off.
func (s *show) install(ctx context.Context) error {
	begun := time.Now()
	s.heading("svc-lb-mux, installed by its chart")
	wait, noPods := " --wait", ""
	if s.options.nodes == 0 {
		// kwok's node plays the apps' pods there. It must not play the webhook's pods, too.
		wait, noPods = "", " \\\n  --set replicaCount=0 --set webhook.nodeSelector.runs-pods=yes"
	}
	mux := "--set defaultLoadBalancer.provider=none \\\n  --set gatewayApi.implementation=true --set " +
		"gatewayApi.allocator=true"
	if s.options.gateways {
		mux = "--values test/demo/gateways.yaml"
	}
	command := fmt.Sprintf("helm install svc-mux %s --namespace %s --create-namespace%s \\\n"+
		"  --set images.registry=%s %s%s", s.options.chart, namespace, wait, product.Registry, mux, noPods)
	s.command(command)
	if _, err := s.shell(ctx, command); err != nil {
		said, _ := s.shell(ctx, "kubectl get pods --namespace "+namespace)
		return fmt.Errorf("%w\n%s", err, strings.TrimSpace(said))
	}
	if s.options.nodes == 0 {
		if err := s.standIn(ctx); err != nil {
			return err
		}
	}
	s.took(begun)
	return nil
}
