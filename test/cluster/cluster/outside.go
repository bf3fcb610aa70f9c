package cluster

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"
)

// A Client sends from one place of the cluster's network to any address.
type Client struct {
	cluster *Cluster
	net     string
}

// Outside is a client that is no part of the cluster: it sees load balancers and nodes, as the world does.
func (c *Cluster) Outside() Client { return Client{c, outsideNet} }

// Inside is a client on the control plane's machine, which kube-proxy serves.
func (c *Cluster) Inside() Client { return Client{c, ""} }

// On is a client on a node.
func (c *Cluster) On(node *Node) Client { return Client{c, node.Name} }

// Dial connects to an IP address and port over "tcp" or "udp".
func (c Client) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	return c.cluster.Host.Dial(ctx, c.net, network, address)
}

// Listen serves at an address; a Service can have it as its endpoint.
func (c Client) Listen(network, address string) (net.Listener, error) {
	return c.cluster.Host.Listen(c.net, network, address)
}

// HTTP makes a request a connection, so that each is balanced anew.
func (c Client) HTTP() *http.Client {
	return &http.Client{
		Timeout:   10 * time.Second,
		Transport: &http.Transport{DialContext: c.cluster.Host.Dialer(c.net), DisableKeepAlives: true},
	}
}

// Unanswered are the connections that each machine has seen begin, and not answered, in the kernel's own words: where they went
// to, and where they were sent on to; and the neighbours that it doesn't find. It is for looking at what was lost.
func (c *Cluster) Unanswered(ctx context.Context) string {
	const look = "grep -e SYN_SENT -e UNREPLIED /proc/net/nf_conntrack; ip neigh show nud failed nud incomplete nud probe; true"
	var all strings.Builder
	for _, at := range append([]string{""}, c.nodeNames()...) {
		out, err := c.Run(ctx, Program{Net: at, Args: []string{"/bin/sh", "-c", look}})
		fmt.Fprintf(&all, "on %s: %v\n%s", cmp.Or(at, "the control plane"), err, out.Stdout)
	}
	return all.String()
}
