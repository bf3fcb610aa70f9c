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

// Client sends from a place in the cluster's network to any address.
type Client struct {
	cluster *Cluster
	net     string
}

// Outside returns a client outside of the cluster. It reaches load balancers and nodes, as clients in the world do.
func (c *Cluster) Outside() Client { return Client{c, outsideNet} }

// Inside returns a client on the control plane's machine, where kube-proxy works, too.
func (c *Cluster) Inside() Client { return Client{c, ""} }

// On returns a client on a node.
func (c *Cluster) On(node *Node) Client { return Client{c, node.Name} }

// Dial connects to an IP address and port over "tcp" or "udp".
func (c Client) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	return c.cluster.Host.Dial(ctx, c.net, network, address)
}

// Listen serves at an address, which a Service can have as its endpoint.
func (c Client) Listen(network, address string) (net.Listener, error) {
	return c.cluster.Host.Listen(c.net, network, address)
}

// HTTP returns a client that opens a new connection per request, so that each request is balanced separately.
func (c Client) HTTP() *http.Client {
	return &http.Client{
		Timeout:   10 * time.Second,
		Transport: &http.Transport{DialContext: c.cluster.Host.Dialer(c.net), DisableKeepAlives: true},
	}
}

// Unanswered returns the unanswered connections of each machine, from the kernel's connection tracking: their
// destination, and the destination after translation. It also returns neighbours that the machine doesn't find. Use it
// to investigate lost packets.
func (c *Cluster) Unanswered(ctx context.Context) string {
	const look = "grep -e SYN_SENT -e UNREPLIED /proc/net/nf_conntrack; " +
		"ip neigh show nud failed nud incomplete nud probe; true"
	var all strings.Builder
	for _, at := range append([]string{""}, c.nodeNames()...) {
		out, err := c.Run(ctx, Program{Net: at, Args: []string{"/bin/sh", "-c", look}})
		fmt.Fprintf(&all, "on %s: %v\n%s", cmp.Or(at, "the control plane"), err, out.Stdout)
	}
	return all.String()
}
