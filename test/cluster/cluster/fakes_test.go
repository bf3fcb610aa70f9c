package cluster

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"

	"nowake.ai/svc-lb-mux/test/long"
)

// crowd is a Deployment of fake pods, and their Service.
const crowd = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: crowd}
spec:
  replicas: 1000
  selector: {matchLabels: {app: crowd}}
  template:
    metadata: {labels: {app: crowd}}
    spec:
      nodeSelector: {` + FakeNode + `: "true"}
      tolerations: [{key: ` + FakeNode + `, operator: Exists}]
      containers: [{name: fake, image: fake}]
---
apiVersion: v1
kind: Service
metadata: {name: crowd}
spec: {selector: {app: crowd}, ports: [{name: http, port: 80, targetPort: 8080}]}
`

func TestAThousandFakePods(t *testing.T) {
	long.Only(t, "TestNodes has real pods")
	t.Parallel()
	c := Start(t, Kwok())
	if err := c.AddFakeNodes(t.Context(), 5); err != nil {
		t.Fatal(err)
	}
	if err := c.AnswerForFakePods(t.Context()); err != nil {
		t.Fatal(err)
	}
	c.Apply(t, crowd)
	pods := map[string]bool{} // addresses
	Eventually(t, "a thousand endpoints are ready", func(ctx context.Context) error {
		list, err := ready(ctx, c, "crowd")
		if err == nil && len(list) != 1000 {
			err = fmt.Errorf("%d pods are ready", len(list))
		}
		return err
	})
	for ip := range strings.FieldsSeq(c.Kubectl(t, "get", "pods", "-o", "jsonpath={.items[*].status.podIP}")) {
		pods[ip] = true
	}
	if len(pods) != 1000 {
		t.Errorf("a thousand pods have %d addresses", len(pods))
	}
	listener, err := c.Inside().Listen("tcp4", "0.0.0.0:8080")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(tellAddress)}
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Close() })
	ip := c.Kubectl(t, "get", "service", "crowd", "-o", "jsonpath={.spec.clusterIP}")
	heard := map[string]bool{}
	Eventually(t, "twenty different pods answer on the Service's address", func(ctx context.Context) error {
		said, err := get(ctx, c.Inside().HTTP(), "http://"+ip)
		if err != nil {
			return err
		}
		if !pods[said] {
			t.Fatalf("%q isn't a pod's address", said)
		}
		if heard[said] = true; len(heard) < 20 {
			return fmt.Errorf("%d pods answered", len(heard))
		}
		return nil
	})
}

// tellAddress answers with the local address of the connection: the fake pod's.
func tellAddress(w http.ResponseWriter, r *http.Request) {
	local, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if !ok {
		http.Error(w, "no local address", http.StatusInternalServerError)
		return
	}
	host, _, err := net.SplitHostPort(local.String())
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	fmt.Fprint(w, host)
}

func TestImpossibleFakeNodesAreRefused(t *testing.T) {
	c := &Cluster{}
	if err := c.AddFakeNodes(t.Context(), 1); err == nil || !strings.Contains(err.Error(), "cluster.Kwok()") {
		t.Errorf("without kwok: %v", err)
	}
	c.options.kwok = true
	if err := c.AddFakeNodes(t.Context(), MaxFakeNodes+1); err == nil || !strings.Contains(err.Error(), "127") {
		t.Errorf("too many: %v", err)
	}
}
