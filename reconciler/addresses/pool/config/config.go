package config

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"
	kube "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	"nowake.ai/svc-lb-mux/balancer/claims"
)

// Pool is a pool of addresses, and the gateways that carry them.
type Pool struct {
	Name             string
	Ranges, Excluded claims.Ranges
	Gateways         Selector
	// Announce is the way in which gateways announce addresses: AnnounceVRRP or AnnounceNone.
	Announce string
	// ReturnPath is the way of replies to the gateway: node, routed or gateway.
	ReturnPath string
	// RouterIDs are the seats, sorted.
	RouterIDs []uint8
	// Grace is how long a mux must be missing before its addresses are released, unless a watch told its deletion. It is
	// also how long released addresses stay reserved for the mux.
	Grace time.Duration
	// AdvertInterval is the time between two adverts of a seat's holder.
	AdvertInterval time.Duration
	// MuxesPerNamespace is how many muxes of a namespace get addresses. Addresses that are still reserved for deleted
	// muxes count, too.
	MuxesPerNamespace int
	// MaxCapacity is the largest capacity that counts. A gateway itself says its capacity.
	MaxCapacity int
	// ProbesBackends is true if the pool's gateways probe backends. Otherwise results of probes don't count.
	ProbesBackends bool
}

// Selector selects gateways. Every part that is set must match.
type Selector struct {
	Names       []string          `json:"names,omitempty"`
	MatchLabels map[string]string `json:"matchLabels,omitempty"`
}

// Selects is true if a gateway of this name and with these labels may carry the pool.
func (s Selector) Selects(name string, labels map[string]string) bool {
	if len(s.Names) > 0 && !slices.Contains(s.Names, name) {
		return false
	}
	for key, value := range s.MatchLabels {
		if got, there := labels[key]; !there || got != value {
			return false
		}
	}
	return true
}

// The ways to announce addresses, and limits.
const (
	AnnounceVRRP = "vrrp"
	AnnounceNone = "none"

	defaultGrace = 5 * time.Minute
	minGrace     = 10 * time.Second
	maxGrace     = 7 * 24 * time.Hour
	maxName      = 42 // so that the ConfigMap's name is a label, too

	defaultMuxesPerNamespace = 256
	maxMuxesPerNamespace     = 10_000 // more than a ConfigMap has room for
	defaultMaxCapacity       = 1
	maxMaxCapacity           = 1000
)

type fileYAML struct {
	Pools []poolYAML `json:"pools"`
}

type poolYAML struct {
	Name         string               `json:"name"`
	Addresses    []string             `json:"addresses"`
	Exclude      []string             `json:"exclude,omitempty"`
	Gateways     Selector             `json:"gateways,omitempty"`
	Announce     string               `json:"announce,omitempty"`
	ReturnPath   string               `json:"returnPath,omitempty"`
	RouterIDs    []intstr.IntOrString `json:"routerIDs,omitempty"`
	ReleaseGrace string               `json:"releaseGrace,omitempty"`
	// AdvertInterval is a time such as 200ms.
	AdvertInterval string `json:"advertInterval,omitempty"`
	// MuxesPerNamespace and MaxCapacity are nil if they are left out.
	MuxesPerNamespace *int   `json:"muxesPerNamespace,omitempty"`
	MaxCapacity       *int   `json:"maxCapacity,omitempty"`
	ProbeBackends     string `json:"probeBackends,omitempty"`
}

// Parse reads the file of pools. It returns all mistakes, each with the pool, the value and the way out.
func Parse(text []byte) ([]Pool, error) {
	var file fileYAML
	if err := yaml.UnmarshalStrict(text, &file); err != nil {
		return nil, fmt.Errorf("the file of pools can't be read: %w", err)
	}
	if len(file.Pools) == 0 {
		return nil, errors.New("the file of pools has no pool: set gateways.pools in the chart's values")
	}
	var pools []Pool
	var errs []error
	for i := range file.Pools {
		one, err := file.Pools[i].pool()
		if err != nil {
			errs = append(errs, fmt.Errorf("pool %q: %w", file.Pools[i].Name, err))
		}
		pools = append(pools, one)
	}
	slices.SortFunc(pools, func(a, b Pool) int { return strings.Compare(a.Name, b.Name) })
	errs = append(errs, checkTogether(pools))
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return pools, nil
}

func (y *poolYAML) pool() (Pool, error) {
	p := Pool{Name: y.Name, Gateways: y.Gateways, Announce: y.Announce, ReturnPath: y.ReturnPath, Grace: defaultGrace,
		AdvertInterval: claims.DefaultInterval, MuxesPerNamespace: ptr.Deref(y.MuxesPerNamespace, defaultMuxesPerNamespace),
		MaxCapacity: ptr.Deref(y.MaxCapacity, defaultMaxCapacity), ProbesBackends: y.ProbeBackends != ""}
	var errs []error
	if wrong := kube.IsDNS1123Label(y.Name); len(wrong) > 0 || len(y.Name) > maxName {
		errs = append(errs, fmt.Errorf("the name must be at most %d lower-case letters, digits and dashes", maxName))
	}
	var err error
	if p.Ranges, err = claims.ParseRanges(y.Addresses); err != nil {
		errs = append(errs, fmt.Errorf("addresses: %w", err))
	}
	if len(y.Addresses) == 0 {
		errs = append(errs, errors.New("addresses: there is none: list networks such as 192.0.2.0/24"))
	}
	if p.Excluded, err = claims.ParseRanges(y.Exclude); err != nil {
		errs = append(errs, fmt.Errorf("exclude: %w", err))
	}
	errs = append(errs,
		choose(&p.Announce, "announce", AnnounceVRRP, AnnounceNone),
		choose(&p.ReturnPath, "returnPath", "node", "routed", "gateway"),
		p.readRouterIDs(y.RouterIDs))
	if y.ReleaseGrace != "" {
		p.Grace, err = time.ParseDuration(y.ReleaseGrace)
		if err != nil || p.Grace < minGrace || p.Grace > maxGrace {
			errs = append(errs, fmt.Errorf("releaseGrace %q: write a time from %s to %s, such as 5m", y.ReleaseGrace, minGrace,
				maxGrace))
		}
	}
	if y.AdvertInterval != "" {
		p.AdvertInterval, err = time.ParseDuration(y.AdvertInterval)
		if err != nil || !claims.IsInterval(p.AdvertInterval) {
			errs = append(errs, fmt.Errorf("advertInterval %q: write a time from %s to %s in steps of %s, such as 200ms",
				y.AdvertInterval, claims.IntervalStep, claims.LongestInterval, claims.IntervalStep))
		}
	}
	if n := p.MuxesPerNamespace; n < 1 || n > maxMuxesPerNamespace {
		errs = append(errs, fmt.Errorf("muxesPerNamespace %d: write a number from 1 to %d", n, maxMuxesPerNamespace))
	}
	if n := p.MaxCapacity; n < 1 || n > maxMaxCapacity {
		errs = append(errs, fmt.Errorf("maxCapacity %d: write a number from 1 to %d", n, maxMaxCapacity))
	}
	if every, err := time.ParseDuration(cmp.Or(y.ProbeBackends, "1s")); err != nil || every < time.Second ||
		every > time.Hour {
		errs = append(errs, fmt.Errorf("probeBackends %q: write a time from 1s to 1h, such as 2s", y.ProbeBackends))
	}
	return p, errors.Join(errs...)
}

// choose sets the first value as default, and refuses values that aren't listed.
func choose(value *string, name string, known ...string) error {
	if *value == "" {
		*value = known[0]
	}
	if slices.Contains(known, *value) {
		return nil
	}
	return fmt.Errorf("%s %q: write one of %s", name, *value, strings.Join(known, ", "))
}

// readRouterIDs reads numbers such as 50, and ranges such as "50-53".
func (p *Pool) readRouterIDs(list []intstr.IntOrString) error {
	ids := map[uint8]bool{}
	for i := range list {
		from, to, isRange := strings.Cut(list[i].String(), "-")
		if !isRange {
			to = from
		}
		first, last := intstr.Parse(strings.TrimSpace(from)), intstr.Parse(strings.TrimSpace(to))
		if first.Type != intstr.Int || last.Type != intstr.Int || first.IntVal < 1 || last.IntVal > 255 ||
			first.IntVal > last.IntVal {
			return fmt.Errorf("routerIDs: %q: write numbers from 1 to 255, or ranges such as 50-53", list[i].String())
		}
		for id := first.IntVal; id <= last.IntVal; id++ {
			ids[uint8(id)] = true
		}
	}
	p.RouterIDs = slices.Sorted(maps.Keys(ids))
	if len(ids) == 0 && p.Announce != AnnounceNone {
		return fmt.Errorf("routerIDs: there is none, and announce is %s: list numbers from 1 to 255 that nothing else on "+
			"the segment uses, such as 50-53", p.Announce)
	}
	return nil
}

// Addresses returns the addresses that the pools hand out, in the order of the pools.
func Addresses(pools []Pool) claims.Ranges {
	var all claims.Ranges
	for i := range pools {
		all = append(all, pools[i].Ranges.Without(pools[i].Excluded)...)
	}
	return all
}

// checkTogether refuses pools that share a name, an address or a router ID.
func checkTogether(pools []Pool) error {
	var errs []error
	owner := map[uint8]string{}
	for i := range pools {
		p := &pools[i]
		if i > 0 && pools[i-1].Name == p.Name {
			errs = append(errs, fmt.Errorf("pool %q is there twice: give each pool a name of its own", p.Name))
			continue
		}
		for j := range pools[:i] {
			if a := pools[j].Ranges.Shared(p.Ranges); a.IsValid() {
				errs = append(errs, fmt.Errorf("address %s is in pool %s and in pool %s: take it out of one of them", a,
					pools[j].Name, p.Name))
			}
		}
		for _, id := range p.RouterIDs {
			if other, twice := owner[id]; twice {
				errs = append(errs, fmt.Errorf("router ID %d is in pool %s and in pool %s: take it out of one of them", id, other,
					p.Name))
				break
			}
			owner[id] = p.Name
		}
	}
	if n := len(Addresses(pools)); n > claims.MaxRanges {
		errs = append(errs, fmt.Errorf("the pools have %d ranges of addresses between the excluded ones, and at most %d "+
			"are possible: write networks instead of single addresses", n, claims.MaxRanges))
	}
	return errors.Join(errs...)
}
