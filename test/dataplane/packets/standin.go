package packets

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nowake.ai/svc-lb-mux/test/cluster/cluster"
)

// StandIn answers HTTP for every present fake pod with the pod's name, until the context ends. The packets are real:
// each goes to the pod's own address.
func StandIn(ctx context.Context, c *cluster.Cluster, port int) error {
	pods, err := c.Client.CoreV1().Pods(metav1.NamespaceAll).List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("list the pods to answer for: %w", err)
	}
	names := map[netip.Addr]string{}
	for i := range pods.Items {
		for _, ip := range pods.Items[i].Status.PodIPs {
			if address, err := netip.ParseAddr(ip.IP); err == nil {
				names[address] = pods.Items[i].Name
			}
		}
	}
	listener, err := c.Inside().Listen("tcp", fmt.Sprintf(":%d", port))
	if err != nil {
		return fmt.Errorf("answer for fake pods: %w", err)
	}
	server := &http.Server{Handler: standIn(names)}
	go func() {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			_ = listener.Close()
		}
	}()
	context.AfterFunc(ctx, func() { _ = server.Close() })
	return nil
}

func standIn(names map[netip.Addr]string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		local, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
		at, err := netip.ParseAddrPort(fmt.Sprint(local))
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		name, known := names[at.Addr().Unmap()]
		if !known {
			http.Error(w, fmt.Sprintf("no pod has the address %s", at.Addr()), http.StatusNotFound)
			return
		}
		fmt.Fprint(w, name)
	})
}
