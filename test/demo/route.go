package main

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
	"time"
)

// route shows a route of the Gateway API that gets a number on a Gateway. The kinds are installed only now: the feature
// starts by itself.
func (s *show) route(ctx context.Context) error {
	begun := time.Now()
	s.heading("A route of the Gateway API gets a number, too")
	find := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/gateway-api")
	find.Dir = s.root
	folder, err := find.Output()
	if err != nil {
		return fmt.Errorf("find the Gateway API's kinds: %w", err)
	}
	s.gatewayAPI = strings.TrimSpace(string(folder))
	s.text("The API's kinds come from the folder of its Go module, which GATEWAY_API names.")
	for _, command := range []string{
		"kubectl apply --server-side --filename $GATEWAY_API/config/crd/standard > /dev/null",
		"kubectl wait crd --all --for=condition=Established --timeout=60s > /dev/null",
		"kubectl apply --filename test/demo/route.yaml",
		"kubectl wait gateway/edge --namespace svc-mux --for=condition=Programmed --timeout=60s",
		`kubectl wait tcproute/rooms --namespace chat ` +
			`--for=jsonpath='{.metadata.annotations.svc-mux\.nowake\.ai/ports}' --timeout=60s`,
		"kubectl wait listenerset/rooms --namespace chat --for=condition=Programmed --timeout=60s",
		"svcmux explain tcproute/rooms --namespace chat",
	} {
		if err := s.typed(ctx, command); err != nil {
			return err
		}
	}
	address, err := s.shell(ctx,
		`echo $(kubectl get gateway edge --namespace svc-mux --output jsonpath='{.status.addresses[0].value}'):$(`+
			`kubectl get tcproute rooms --namespace chat --output jsonpath='{.metadata.annotations.svc-mux\.nowake\.ai/ports}')`)
	if err != nil {
		return err
	}
	url, page := "http://"+strings.TrimSpace(address), ""
	s.command("curl " + url)
	client := s.cluster.Outside().HTTP()
	if err := patiently(ctx, func() (err error) { page, err = get(ctx, client, url); return err }); err != nil {
		return fmt.Errorf("the route's backend doesn't answer: %w", err)
	}
	s.text(page)
	s.took(begun)
	return nil
}
