package cluster

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"strings"
)

// NoRoute ends the error of who asks where nobody is: what a connection comes to that kube-proxy's rules let pass.
const NoRoute = "connect: no route to host"

// PassedBy counts new connections to ports of load balancers that went through the control plane's machine as they came: kube-proxy's
// rules should have sent each of them to a pod. What they refuse, for want of a backend, isn't among them: it gets no further.
type PassedBy struct {
	cluster *Cluster
	table   string
	taken   int
}

// CountPassedBy begins to count those to some ports, whichever load balancer's.
func (c *Cluster) CountPassedBy(ctx context.Context, ports ...string) (*PassedBy, error) {
	p := &PassedBy{cluster: c, table: "passed_" + strings.ToLower(rand.Text())}
	var script strings.Builder
	fmt.Fprintf(&script, "add table inet %s\nadd chain inet %[1]s forward { type filter hook forward priority 20; }\n", p.table)
	for _, family := range [...]struct{ name, kind, header, pool string }{
		{"v4", "ipv4_addr", "ip", poolIPv4}, {"v6", "ipv6_addr", "ip6", poolIPv6},
	} {
		fmt.Fprintf(&script, "add set inet %s %s { type %s . inet_service . inet_service; flags dynamic; size 65535; }\n",
			p.table, family.name, family.kind)
		fmt.Fprintf(&script, "add rule inet %s forward %s daddr %s tcp dport { %s } ct state new "+
			"add @%s { %[2]s saddr . tcp sport . tcp dport }\n",
			p.table, family.header, family.pool, strings.Join(ports, ", "), family.name)
	}
	_, err := p.nft(ctx, "--file -", script.String())
	return p, err
}

// Take returns how many there were since the last time. What is sent anew isn't counted again.
func (p *PassedBy) Take(ctx context.Context) (int, error) {
	total := 0
	for _, family := range [...]string{"v4", "v6"} {
		said, err := p.nft(ctx, fmt.Sprintf("--json list set inet %s %s", p.table, family), "")
		if err != nil {
			return 0, err
		}
		var list struct {
			Nftables []struct {
				Set struct{ Elem []json.RawMessage }
			}
		}
		if err := json.Unmarshal([]byte(said), &list); err != nil {
			return 0, fmt.Errorf("nft says %q: %w", said, err)
		}
		for _, object := range list.Nftables {
			total += len(object.Set.Elem)
		}
	}
	since := total - p.taken
	p.taken = total
	return since, nil
}

// End takes the count away, if it is there.
func (p *PassedBy) End(ctx context.Context) error {
	_, err := p.nft(ctx, "--file -", "add table inet "+p.table+"\ndelete table inet "+p.table)
	return err
}

func (p *PassedBy) nft(ctx context.Context, args, script string) (string, error) {
	out, err := p.cluster.Run(ctx, Program{Args: []string{"/bin/sh", "-c", "PATH=$PATH:/usr/sbin:/sbin exec nft " + args}, Stdin: script})
	return out.Stdout, err
}
