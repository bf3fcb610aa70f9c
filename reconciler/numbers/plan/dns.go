package plan

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"nowake.ai/svc-lb-mux/validation"
)

// maxHostnamesBytes bounds the DNS names gathered on a mux. All annotations of an object together may have 256 KiB. The
// mux has the names three times, topology and channels take 64 KiB (see notes.go), and the rest is for the mux's owner.
// Former releases wrote the names twice, and gathered formerHostnamesBytes of them: those names stay.
const (
	maxHostnamesBytes    = 40 << 10
	formerHostnamesBytes = 64 << 10
)

// dns is the DNS names and the proxied flag that the mux gives external-dns.
type dns struct {
	ours    validation.MuxDNS // set by the reconciler
	all     validation.MuxDNS // set by the reconciler or the mux's owner
	holders []HostnameHolder
	of      map[types.NamespacedName][]string // gathered names, by channel
}

// gatherNames decides which DNS names of channels the mux has. A name belongs to the namespace that used it first, as
// long as one of its channels asks for it. A channel whose name is refused keeps its ports.
func gatherNames(p *pass) {
	var asking []*channel
	for _, c := range p.channels {
		if c.showsAddress && len(c.Hostnames) > 0 {
			asking = append(asking, c)
		}
	}
	asking = byAge(asking)
	g := &gathering{pass: p, had: map[string]string{}, has: map[string]string{}, asked: map[string]int{}}
	for _, holder := range p.w.Ledger.Ledger.Hostnames {
		g.had[holder.Hostname] = holder.Namespace
	}
	p.dns.of = map[types.NamespacedName][]string{}
	g.askAll(asking)
	gathered := slices.Sorted(maps.Keys(g.has))
	for _, name := range gathered {
		p.dns.holders = append(p.dns.holders, HostnameHolder{name, g.has[name]})
	}
	wish := g.proxied(asking)
	for i := range p.dns.all {
		g.names(i, gathered)
		g.flag(i, wish)
	}
}

// names adds the gathered names to those of the mux's owner, under one of the prefixes.
func (g *gathering) names(i int, gathered []string) {
	ours, all := &g.dns.ours[i], &g.dns.all[i]
	owners := slices.DeleteFunc(slices.Clone(g.w.Mux.DNS[i].Hostnames), sets.New(g.w.Mux.OurDNS[i].Hostnames...).Has)
	ours.Hostnames = slices.DeleteFunc(slices.Clone(gathered), sets.New(owners...).Has)
	all.Hostnames = slices.Sorted(slices.Values(slices.Concat(owners, ours.Hostnames)))
}

type gathering struct {
	*pass
	had   map[string]string // the namespace that had a name before
	has   map[string]string // the namespace that has it now
	bytes int
	asked map[string]int // how many names were compared, by namespace
}

// askAll asks for all names: first for names that the namespace had, then for the others. A channel with problems may
// ask for invalid names: it only shares names that its namespace has anyway.
func (g *gathering) askAll(asking []*channel) {
	type round func(c *channel, name string) bool
	had := func(c *channel, name string) bool { return g.had[name] == c.Key.Namespace }
	for _, asks := range [...]round{
		had,
		func(c *channel, name string) bool { return !had(c, name) && len(c.Problems) == 0 },
		func(c *channel, name string) bool {
			return !had(c, name) && len(c.Problems) > 0 && g.has[name] == c.Key.Namespace
		},
	} {
		for _, c := range asking {
			for _, name := range c.Hostnames {
				if asks(c, name) {
					g.ask(c, name)
				}
			}
		}
	}
	for _, names := range g.dns.of {
		slices.Sort(names)
	}
}

func (g *gathering) ask(c *channel, name string) {
	namespace := c.Key.Namespace
	had := g.had[name] == namespace
	holder := g.has[name]
	if holder == "" && !had {
		g.asked[namespace]++
	}
	switch {
	case holder == namespace:
	case holder != "":
		g.deny(c, MuxExternalDNSAnnotationConflict, denial{name: name, holder: holder})
		return
	case !had && g.asked[namespace] > g.allowed.most:
		g.deny(c, HostnameNotAllowed, denial{name: name, unread: true})
		return
	case !had && !g.allowed.hostname(name, namespace):
		g.deny(c, HostnameNotAllowed, denial{name: name})
		return
	case g.bytes+len(name)+1 > formerHostnamesBytes, !had && g.bytes+len(name)+1 > maxHostnamesBytes:
		g.deny(c, HostnameNotAllowed, denial{name: name, full: true})
		return
	default:
		g.has[name] = namespace
		g.bytes += len(name) + 1
	}
	g.dns.of[c.Key] = append(g.dns.of[c.Key], name)
}

func (g *gathering) deny(c *channel, reason validation.Reason, denied denial) {
	c.remarks = append(c.remarks, remark{reason: reason, denied: denied})
}

// proxied returns the flag that the channels wish: it is on if all channels that set it say so.
func (g *gathering) proxied(asking []*channel) (wish validation.Switch) {
	wish = validation.Unset
	for _, c := range asking {
		switch {
		case len(g.dns.of[c.Key]) == 0 || c.Proxied == validation.Unset || c.Proxied == validation.Garbled:
		case c.Proxied == validation.Off:
			wish = validation.Off
		case wish == validation.Unset:
			wish = validation.On
		}
	}
	return wish
}

// flag sets the flag under one of the prefixes. A value that the mux's owner set stays; a conflict with it is a
// warning.
func (g *gathering) flag(i int, wish validation.Switch) {
	now, ours := g.w.Mux.DNS[i].Proxied, g.w.Mux.OurDNS[i].Proxied
	if now != validation.Unset && now != ours {
		g.dns.all[i].Proxied = now
		if wish != validation.Unset && wish != now {
			key := validation.ExternalDNSOnMux()[i].Proxied
			g.warn(MuxExternalDNSAnnotationConflict, textProxiedConflict(key, now, wish))
		}
		return
	}
	g.dns.ours[i].Proxied, g.dns.all[i].Proxied = wish, wish
}
