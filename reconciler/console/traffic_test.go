package console

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/netip"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"nowake.ai/svc-lb-mux/balancer/lease"
	"nowake.ai/svc-lb-mux/reconciler/console/view"
)

// TestTrafficIsTheSumOfAllGateways: a port has the channel that holds it, and an address that no mux shows is left out.
func TestTrafficIsTheSumOfAllGateways(t *testing.T) {
	port := func(address string, number uint16, bytes uint64) lease.PortTraffic {
		return lease.PortTraffic{Address: netip.MustParseAddr(address), Protocol: "TCP", First: number, Last: number,
			Total:  lease.Amounts{Connections: 1, Packets: 2, Bytes: bytes * 100},
			Lately: lease.Amounts{Connections: 10, Packets: 20, Bytes: bytes}}
	}
	reads := 0
	k := newKit(t, func(o *Options) {
		o.Gateways = func(context.Context) ([]lease.Gateway, error) {
			reads++
			return []lease.Gateway{
				{Name: "a", Traffic: &lease.Traffic{Over: 10 * time.Second,
					Ports: []lease.PortTraffic{port("192.0.2.7", 80, 1000), port("192.0.2.9", 80, 7)}}},
				{Name: "b", Traffic: &lease.Traffic{Over: 5 * time.Second,
					Ports: []lease.PortTraffic{port("192.0.2.7", 101, 5000), port("192.0.2.7", 80, 500)}}},
				{Name: "c"},
			}, nil
		}
	})
	k.channel("web")
	for range 3 {
		got := k.ask("GET", "/api/traffic")
		var answer view.Traffic
		if err := json.Unmarshal(got.Body.Bytes(), &answer); err != nil || got.Code != http.StatusOK {
			t.Fatalf("%d %s: %v", got.Code, got.Body, err)
		}
		want := view.Traffic{Schema: view.Schema, Ports: []view.PortTraffic{
			{Mux: "svc-mux/mux", Number: 101, Protocol: "TCP",
				Total:     view.Amounts{Connections: 1, Packets: 2, Bytes: 500_000},
				PerSecond: view.Rates{Connections: 2, Packets: 4, Bytes: 1000}},
			{Mux: "svc-mux/mux", Number: 80, Protocol: "TCP", Channel: "shop/web", Port: "http",
				Total:     view.Amounts{Connections: 2, Packets: 4, Bytes: 150_000},
				PerSecond: view.Rates{Connections: 3, Packets: 6, Bytes: 200}},
		}}
		if diff := cmp.Diff(want, answer); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
	if reads != 1 {
		t.Errorf("three questions read the Leases %d times", reads)
	}
	k.pass(trafficAge)
	if k.ask("GET", "/api/traffic"); reads != 2 {
		t.Errorf("the Leases were read %d times, and the answer is old", reads)
	}
}

func TestTrafficWithoutGateways(t *testing.T) {
	if got := newKit(t).ask("GET", "/api/traffic"); got.Code != http.StatusNotFound {
		t.Errorf("without gateways: %d %s", got.Code, got.Body)
	}
	broken := newKit(t, func(o *Options) {
		o.Gateways = func(context.Context) ([]lease.Gateway, error) { return nil, errors.New("forbidden") }
	})
	if got := broken.ask("GET", "/api/traffic"); got.Code != http.StatusInternalServerError {
		t.Errorf("without the right: %d %s", got.Code, got.Body)
	}
}
