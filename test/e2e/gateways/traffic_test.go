package gateways

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"testing"

	"nowake.ai/svc-lb-mux/reconciler/console/view"
	"nowake.ai/svc-lb-mux/test/cluster/cluster"
)

// testTraffic looks at the console, which sums up what the gateways wrote into their Leases.
func testTraffic(t *testing.T, w *world, addresses []string) {
	w.Forward(t, "deployment/svc-mux", "18080:8080", "--namespace="+namespace)
	const requests = 20
	for range requests {
		if _, err := ask(t.Context(), w.Outside(), addresses[0]+":443"); err != nil {
			t.Fatal(err)
		}
	}
	cluster.Eventually(t, "the console shows the requests", func(ctx context.Context) error {
		ports, err := w.traffic(ctx)
		if err != nil {
			return err
		}
		at := slices.IndexFunc(ports, func(p view.PortTraffic) bool { return p.Channel == shop+"/api" && p.Number == 443 })
		if at < 0 || ports[at].Total.Connections < requests || ports[at].Total.Bytes == 0 ||
			ports[at].Mux != namespace+"/mux" {
			return fmt.Errorf("after %d requests it shows %+v", requests, ports)
		}
		return nil
	})
}

func (w *world) traffic(ctx context.Context) ([]view.PortTraffic, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://127.0.0.1:18080/api/traffic", nil)
	if err != nil {
		return nil, err
	}
	answer, err := w.Inside().HTTP().Do(request)
	if err != nil {
		return nil, err
	}
	var traffic view.Traffic
	err = json.NewDecoder(answer.Body).Decode(&traffic)
	return traffic.Ports, errors.Join(err, answer.Body.Close())
}
