package view

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/reconciler/sight"
	"nowake.ai/svc-lb-mux/validation"
)

// Chain explains how a Service is reached through a mux, or what breaks the path. Each link depends on the one before
// it.
//
//	Service ─ class ─ admission ─ mux ─ claim ─ port ─ address ─ slices ─ backends
type Chain struct {
	Schema    string `json:"schema"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Kind is channel, mux, both, stranger, or absent; listener for a listener of the Gateway API; number if the chain is
	// about a number that no known channel has.
	Kind string `json:"kind"`
	Mux  string `json:"mux,omitempty"` // namespace/name
	// Number and Protocol are what was asked for, if that was a number of the mux.
	Number   int32  `json:"number,omitempty"`
	Protocol string `json:"protocol,omitempty"`
	// Whole says that no link is broken.
	Whole      bool         `json:"whole"`
	Links      []Link       `json:"links"`
	Channel    *Channel     `json:"channel,omitempty"`
	Ports      []PublicPort `json:"tracks,omitempty"`
	Shows      []string     `json:"shows,omitempty"` // the addresses on the channel itself
	Conditions []Condition  `json:"conditions,omitempty"`
	Warnings   []Warning    `json:"warnings,omitempty"`
}

// Link is one step of a chain.
type Link struct {
	Name string `json:"name"`
	// State is ok, warn, bad, open if an earlier link is broken, or unread if the asker may not read the object that
	// tells.
	State  string `json:"state"`
	Text   string `json:"text"`
	Reason string `json:"reason,omitempty"`
	Mend   string `json:"mend,omitempty"`
}

// Condition is a condition of the channel in the cluster.
type Condition struct {
	Type    string `json:"type"`
	Status  string `json:"status"`
	Reason  string `json:"reason"`
	Message string `json:"message"`
}

// Warning is a warning of the rules for the Service, as svcmux validate gives it. Admission may never have given it:
// the Service may be older than the rule, or neither mux nor channel.
type Warning struct {
	Reason  string `json:"reason"`
	Message string `json:"message"`
}

// States of a link.
const (
	linkOK   = "ok"
	linkWarn = "warn"
	linkBad  = "bad"
	linkOpen = "open"
	// linkUnread occurs in the console only for a listener that this process doesn't know: the reconciler reads everything
	// else.
	linkUnread = "unread"
)

// Question is the input of Why: a Service and its mux.
type Question struct {
	Language validation.Language
	Key      types.NamespacedName
	Service  *corev1.Service // nil if it doesn't exist
	// Seen is the mux that the channel names; nil if the Service is no channel, or if another reconciler manages the mux.
	// If the class names no mux, Seen has an empty key.
	Seen *sight.Sight
	// Muxes are all existing muxes, to suggest one.
	Muxes []types.NamespacedName
}

// Why explains, link by link, how a Service is reached through its mux, or which link is broken.
func Why(q *Question) Chain {
	c := Chain{Schema: Schema, Namespace: q.Key.Namespace, Name: q.Key.Name, Kind: "absent", Links: []Link{}}
	if q.Service == nil {
		c.bad("service", "there is no Service "+q.Key.String(), "", "check its name and its namespace")
		return c.complete()
	}
	kind := q.Language.Classify(q.Service)
	c.Kind = kind.String()
	for _, warning := range warningsOf(q, kind) {
		c.Warnings = append(c.Warnings, Warning{string(warning.Reason), warning.Message})
	}
	c.ok("service", fmt.Sprintf("a Service of type %s", q.Service.Spec.Type))
	switch {
	case kind.Channel():
		c.channel(q)
	case kind.Mux():
		c.Mux, c.Whole = q.Key.String(), true
		c.warn("class", "it is a mux itself: others attach to it", "", "")
		return c
	default:
		c.notChannel(q)
	}
	return c.complete()
}

// heeded drops the warnings that a setting works only on gateways, if the channel's mux is on gateways.
func (q *Question) heeded(warnings []validation.Problem) []validation.Problem {
	if q.Seen == nil || q.Seen.World.Mux == nil || q.Seen.World.Mux.Pool == "" {
		return warnings
	}
	return slices.DeleteFunc(slices.Clone(warnings), func(p validation.Problem) bool {
		return p.Reason == validation.SourceRangesNeedGateways || p.Reason == validation.PortRangesNeedGateways
	})
}

func warningsOf(q *Question, kind validation.Kind) []validation.Problem {
	switch {
	case kind.Channel():
		_, found := q.Language.ParseChannel(q.Service)
		return slices.Concat(found.Excesses, q.heeded(found.Warnings))
	case kind.Mux():
		_, found := q.Language.ParseMux(q.Service)
		return slices.Concat(found.Excesses, found.Gateways, found.Warnings)
	}
	return q.Language.Typos(q.Service)
}

func (c *Chain) add(name, state, text, reason, mend string) {
	c.Links = append(c.Links, Link{name, state, text, reason, mend})
}

func (c *Chain) ok(name, text string)                 { c.add(name, linkOK, text, "", "") }
func (c *Chain) warn(name, text, reason, mend string) { c.add(name, linkWarn, text, reason, mend) }
func (c *Chain) bad(name, text, reason, mend string)  { c.add(name, linkBad, text, reason, mend) }
func (c *Chain) unread(name, text, why string)        { c.add(name, linkUnread, text, "", why) }

// complete adds the links that weren't reached, and sets Whole.
func (c Chain) complete() Chain {
	names := []string{"service", "class", "admission", "mux", "claim", "port", "address", "slices", "backends"}
	switch c.Kind {
	case "number":
		names = names[3:]
	case kindListener:
		names = []string{"listener", "mux", "claim", "port", "address", "route", "slices", "backends"}
	}
	for _, name := range names {
		if !slices.ContainsFunc(c.Links, func(l Link) bool { return l.Name == name }) {
			c.add(name, linkOpen, "", "", "")
		}
	}
	c.Whole = !slices.ContainsFunc(c.Links, func(l Link) bool { return l.State == linkBad || l.State == linkOpen })
	return c
}

// notChannel explains why a Service is no channel, and how to make it one.
func (c *Chain) notChannel(q *Question) {
	svc, want := q.Service, q.exampleClass()
	switch class := svc.Spec.LoadBalancerClass; {
	case svc.Spec.Type != corev1.ServiceTypeLoadBalancer:
		c.bad("class", fmt.Sprintf("it is a %s Service; a channel is a LoadBalancer with a class that names a mux",
			svc.Spec.Type),
			"", fmt.Sprintf("set spec.type to LoadBalancer and spec.loadBalancerClass to %s, both at once", want))
	case class == nil || *class == "":
		c.bad("class",
			"it has no spec.loadBalancerClass, so the cluster's default provider gives it a load balancer of its own", "",
			fmt.Sprintf("delete it and create it again with loadBalancerClass: %s; a class can't be added to an existing "+
				"LoadBalancer", want))
	default:
		c.bad("class", fmt.Sprintf("its spec.loadBalancerClass is %s, which isn't one of svc-lb-mux", *class), "",
			fmt.Sprintf("delete it and create it again with loadBalancerClass: %s; a class can't be changed", want))
	}
}

// exampleClass returns a class that names the mux of the default mux namespace. If that has no mux, or several, it
// returns a pattern. A mux elsewhere may be a tenant's.
func (q *Question) exampleClass() string {
	var usual []types.NamespacedName
	for _, mux := range q.Muxes {
		if mux.Namespace == q.Language.DefaultMuxNamespace() {
			usual = append(usual, mux)
		}
	}
	if len(usual) == 1 {
		return q.Language.Prefix() + "/" + usual[0].Name + "." + usual[0].Namespace
	}
	return q.Language.Prefix() + "/<mux>.<namespace>"
}
