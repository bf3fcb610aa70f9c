package cluster

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

// NoRoute is the end of the error for an address that no host has. A connection that kube-proxy's rules don't translate
// fails with it.
const NoRoute = "connect: no route to host"

// PassedBy lists new connections to ports of load balancers that left the control plane's machine untranslated.
// kube-proxy's rules should have sent each of them to a pod. It doesn't list connections that the rules refuse because
// a Service has no backend.
type PassedBy struct {
	cluster *Cluster
	table   string
	seen    map[string]bool
}

// Allowances are the times at which connections passed kube-proxy's rules. Each excuses one connection lost at that
// time.
type Allowances []time.Time

const (
	// synRetries is the time within which the kernel repeats a connection's first packet: after one second, and after
	// three.
	synRetries = 3 * time.Second
	// coarse is the error of an allowance's time: nft shows whole seconds.
	coarse = 1500 * time.Millisecond
)

// Excuse uses up an allowance for a connection that began at the given time. It returns false without a matching
// allowance. An allowance matches if its time is at most synRetries after the connection began: the kernel repeats the
// first packet until then.
func (a *Allowances) Excuse(began time.Time) bool {
	i := slices.IndexFunc(*a, func(passed time.Time) bool {
		return passed.After(began.Add(-coarse)) && passed.Before(began.Add(synRetries+coarse))
	})
	if i < 0 {
		return false
	}
	*a = slices.Delete(*a, i, i+1)
	return true
}

// CountPassedBy starts a list of untranslated connections to some ports, on the addresses of all load balancers.
func (c *Cluster) CountPassedBy(ctx context.Context, ports ...string) (*PassedBy, error) {
	p := &PassedBy{cluster: c, table: "passed_" + strings.ToLower(rand.Text()), seen: map[string]bool{}}
	var script strings.Builder
	fmt.Fprintf(&script, "add table inet %s\nadd chain inet %[1]s forward { type filter hook forward priority 20; }\n",
		p.table)
	for _, family := range [...]struct{ name, kind, header, pool string }{
		{"v4", "ipv4_addr", "ip", poolIPv4}, {"v6", "ipv6_addr", "ip6", poolIPv6},
	} {
		fmt.Fprintf(&script, "add set inet %s %s { type %s . inet_service . inet_service; flags dynamic, timeout; timeout "+
			"%ds; size 65535; }\n", p.table, family.name, family.kind, kept)
		fmt.Fprintf(&script, "add rule inet %s forward %s daddr %s tcp dport { %s } ct state new "+
			"add @%s { %[2]s saddr . tcp sport . tcp dport }\n",
			p.table, family.header, family.pool, strings.Join(ports, ", "), family.name)
	}
	_, err := p.nft(ctx, "--file -", script.String())
	return p, err
}

// Take returns the connections since the last call. A repeated packet isn't listed again.
func (p *PassedBy) Take(ctx context.Context) (Allowances, error) {
	var passed Allowances
	for _, family := range [...]string{"v4", "v6"} {
		said, err := p.nft(ctx, fmt.Sprintf("--json list set inet %s %s", p.table, family), "")
		if err != nil {
			return nil, err
		}
		now := time.Now()
		elements, err := parseElements(said)
		if err != nil {
			return nil, err
		}
		for _, element := range elements {
			if key := string(element.Val); !p.seen[key] {
				p.seen[key] = true
				passed = append(passed, now.Add(-time.Duration(kept-element.Expires)*time.Second))
			}
		}
	}
	return passed, nil
}

// kept is the number of seconds for which a connection stays in nft's set. The age of a connection is kept minus its
// remaining time.
const kept = 3600

// setElement is a connection in nft's set. Expires is its remaining time, which starts at kept.
type setElement struct {
	Val     json.RawMessage
	Expires int
}

func parseElements(said string) ([]setElement, error) {
	var list struct {
		Nftables []struct {
			Set struct{ Elem []struct{ Elem setElement } }
		}
	}
	if err := json.Unmarshal([]byte(said), &list); err != nil {
		return nil, fmt.Errorf("nft prints %q: %w", said, err)
	}
	var elements []setElement
	for _, object := range list.Nftables {
		for _, element := range object.Set.Elem {
			if element.Elem.Expires == 0 {
				return nil, fmt.Errorf("nft prints %q: an element doesn't expire", said)
			}
			elements = append(elements, element.Elem)
		}
	}
	return elements, nil
}

// End removes the list, if it exists.
func (p *PassedBy) End(ctx context.Context) error {
	_, err := p.nft(ctx, "--file -", "add table inet "+p.table+"\ndelete table inet "+p.table)
	return err
}

func (p *PassedBy) nft(ctx context.Context, args, script string) (string, error) {
	out, err := p.cluster.Run(ctx,
		Program{Args: []string{"/bin/sh", "-c", "PATH=$PATH:/usr/sbin:/sbin exec nft " + args}, Stdin: script})
	return out.Stdout, err
}
