package dataplane

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"nowake.ai/svc-lb-mux/test/cluster/cluster"
	"nowake.ai/svc-lb-mux/test/dataplane/packets"
)

// neighbour is a machine beside the nodes. It sends packets for a mux's address through a node, as a load balancer does
// that keeps the client's address.
const (
	neighbour   = "neighbour"
	neighbourIP = "172.31.0.200"
)

// beside dials from the neighbour.
type beside struct{ *world }

func (b beside) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	return b.Host.Dial(ctx, neighbour, network, address)
}

// through makes a node the neighbour's gateway.
func (w *world) through(t *testing.T, node *cluster.Node) packets.Dialer {
	t.Helper()
	w.ip(t, neighbour, "route replace default via "+node.IP)
	return beside{w}
}

func (w *world) ip(t *testing.T, net string, commands ...string) {
	t.Helper()
	program := cluster.Program{Args: []string{"/bin/sh", "-euc", "ip -batch -"},
		Stdin: strings.Join(commands, "\n") + "\n", Net: net}
	if _, err := w.Run(t.Context(), program); err != nil {
		t.Fatal(err)
	}
}

// testLocal checks that the traffic policy Local applies to each channel of a mux separately. A node with a pod of the
// channel forwards the packet with the client's address. A node without one drops the packet, even if it runs pods of
// other channels.
func testLocal(t *testing.T, w *world) {
	w.ip(t, "", "netns add "+neighbour, "link add nb0 type veth peer name eth0 netns "+neighbour,
		"link set nb0 master lan0", "link set nb0 up")
	w.ip(t, neighbour, "link set lo up", "link set eth0 up", "addr add "+neighbourIP+"/24 dev eth0")
	w.mux(t, "local", annotation("port-range", "20000-20099"))
	w.Apply(t, app("here", 1, onNode("node-1"))+app("there", 1, onNode("node-2")))
	w.Apply(t, channel("here", "local", "here", "http:auto", onePort)+channel("there", "local", "there", "http:auto",
		onePort))
	w.rolledOut(t, "here", "there")
	here, there := w.public(t, "here", "http"), w.public(t, "there", "http")
	one, two := w.Nodes()[0], w.Nodes()[1]

	w.answers(t, w.through(t, two), packets.HTTP, here, ofApp("here"))
	if from := w.from(t, here); from == neighbourIP {
		t.Errorf("with the policy Cluster, a pod on another node sees the client address %s", from)
	}
	w.Kubectl(t, "patch", "service", "local", "--namespace="+edge, `--patch={"spec":{"externalTrafficPolicy":"Local"}}`)
	w.silent(t, w.through(t, two), here)
	w.answers(t, w.through(t, one), packets.HTTP, here, ofApp("here"))
	cluster.Eventually(t, "with the policy Local, a pod on that node sees the client's address",
		func(context.Context) error {
			if from := w.from(t, here); from != neighbourIP {
				return fmt.Errorf("the pod sees the client address %s", from)
			}
			return nil
		})
	w.silent(t, w.through(t, one), there)
	w.answers(t, w.through(t, two), packets.HTTP, there, ofApp("there"))
}

// from returns the client's address, as the pod sees it.
func (w *world) from(t *testing.T, address string) (host string) {
	t.Helper()
	client := &http.Client{Timeout: 5 * time.Second,
		Transport: &http.Transport{DialContext: beside{w}.Dial, DisableKeepAlives: true}}
	cluster.Eventually(t, address+" returns the client's address", func(context.Context) error {
		response, err := client.Get("http://" + address + "/from")
		if err != nil {
			return err
		}
		defer response.Body.Close()
		text, err := io.ReadAll(response.Body)
		if err != nil {
			return err
		}
		host, _, err = net.SplitHostPort(string(text))
		return err
	})
	return host
}

// silent waits until an address doesn't answer the given client.
func (w *world) silent(t *testing.T, from packets.Dialer, address string) {
	t.Helper()
	cluster.Eventually(t, address+" is silent", func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		if pod, err := packets.HTTP(ctx, from, address); err == nil {
			return fmt.Errorf("%q answers", pod)
		}
		return nil
	})
}
