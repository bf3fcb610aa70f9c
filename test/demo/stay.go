package main

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// stay prints commands for a further look, and waits.
func (s *show) stay(ctx context.Context, took time.Duration) error {
	kubeconfig, err := s.cluster.Kubeconfig()
	if err != nil {
		return err
	}
	rows, err := s.rows(ctx)
	if err != nil {
		return err
	}
	s.heading(fmt.Sprintf("All of it took %.0f s. To look further, in another terminal:", took.Seconds()))
	fmt.Fprintf(s.to, `
  export KUBECONFIG=%s
  export PATH=%s:$PATH
  kubectl get services --all-namespaces
  kubectl describe service web --namespace shop
  svcmux explain shop/web
%s
Load balancers answer in the cluster's network alone. In this folder, this asks one as the world would:

  echo 'curl -s http://%s:%d' | go run ./test/cluster shell -in outside %s

Ctrl-C ends the cluster, and leaves nothing of it.
`, kubeconfig, s.cluster.BinDir(), s.helmTest(), rows[0].address, rows[0].port, s.cluster.Host.Name())
	select {
	case <-ctx.Done():
		s.heading("Ending it")
		return nil
	case <-s.cluster.Host.Gone():
		return errors.New("the cluster ended by itself: its host is gone")
	}
}

// helmTest returns the command for `helm test`. It runs a pod, so it needs a node.
func (s *show) helmTest() string {
	if s.options.nodes == 0 {
		return ""
	}
	return "  helm test svc-mux --namespace " + namespace + "\n"
}
