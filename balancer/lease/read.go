package lease

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/validation"
)

// Read reads a gateway from its Lease, which it doesn't change. It returns false if the Lease registers no gateway.
func Read(lease *coordinationv1.Lease, keys validation.Keys) (Gateway, bool) {
	name, is := GatewayOf(lease.Name)
	if !is {
		return Gateway{}, false
	}
	g := Gateway{Name: name, Pool: lease.Labels[keys.Pool], Labels: maps.Clone(lease.Labels)}
	delete(g.Labels, keys.Pool)
	if holder := lease.Spec.HolderIdentity; holder != nil {
		g.Holder = short(*holder, maxText)
	}
	if renewed := lease.Spec.RenewTime; renewed != nil {
		g.RenewedAt = renewed.UTC()
	}
	if seconds := lease.Spec.LeaseDurationSeconds; seconds != nil {
		g.Duration = max(0, min(time.Duration(*seconds)*time.Second, maxDuration))
	}
	g.Facts = readPart(&g, lease.Annotations, keys.GatewayFacts, factsLimit, (*factsJSON).facts)
	g.Report = readPart(&g, lease.Annotations, keys.GatewayReport, reportLimit, (*reportJSON).report)
	g.Traffic = readPart(&g, lease.Annotations, keys.GatewayTraffic, trafficLimit, (*trafficJSON).traffic)
	return g, true
}

// readPart reads the JSON of an annotation. It returns nil if the annotation is missing or unreadable.
func readPart[D, T any](g *Gateway, annotations map[string]string, key string, limit int,
	convert func(*D) (*T, error)) *T {
	text, there := annotations[key]
	if !there {
		return nil
	}
	if len(text) > limit {
		g.problem(key, fmt.Errorf("it has %d bytes, and at most %d are read", len(text), limit))
		return nil
	}
	var doc D
	if err := json.Unmarshal([]byte(text), &doc); err != nil {
		g.problem(key, errors.New("it isn't the JSON that agents of this version write"))
		return nil
	}
	part, err := convert(&doc)
	if err != nil {
		g.problem(key, err)
		return nil
	}
	return part
}

func (g *Gateway) problem(key string, err error) {
	g.Problems = append(g.Problems, fmt.Sprintf(
		"Lease %s, annotation %s: %v: restart the agent of gateway %s, or give it the version of the controller",
		Name(g.Name), key, err, g.Name))
}

func (doc *factsJSON) facts() (*Facts, error) {
	f := &Facts{Node: short(doc.Node, maxText), Zone: short(doc.Zone, maxText), Version: short(doc.Version, maxText),
		Capacity: doc.Capacity}
	if f.Capacity < 0 || f.Capacity > maxCapacity {
		return nil, fmt.Errorf("capacity %d isn't from 0 to %d", f.Capacity, maxCapacity)
	}
	if len(doc.Addresses) > maxAddresses || len(doc.BackendNetworks) > maxNetworks {
		return nil, fmt.Errorf("%d addresses and %d networks of backends: at most %d and %d are read", len(doc.Addresses),
			len(doc.BackendNetworks), maxAddresses, maxNetworks)
	}
	var err error
	if f.Addresses, err = parseAddresses(doc.Addresses); err != nil {
		return nil, err
	}
	for _, text := range doc.BackendNetworks {
		network, err := netip.ParsePrefix(text)
		if err != nil || !isNetwork(network) {
			return nil, fmt.Errorf("%q isn't a network such as 192.0.2.0/24", short(text, maxText))
		}
		f.BackendNetworks = append(f.BackendNetworks, network)
	}
	sortNetworks(f.BackendNetworks)
	f.BackendNetworks = slices.Compact(f.BackendNetworks)
	return f, nil
}

func (doc *reportJSON) report() (*Report, error) {
	r := &Report{
		Claims:  Version{types.UID(short(doc.Claims.UID, maxText)), short(doc.Claims.ResourceVersion, maxText)},
		Omitted: max(0, doc.Omitted),
	}
	r.Faults, _ = readRefusals(doc.Faults, maxFaults)
	var err error
	if r.Probes, err = doc.Probes.probes(); err != nil {
		return nil, err
	}
	if r.Adverts, err = doc.Adverts.adverts(); err != nil {
		return nil, err
	}
	for _, id := range doc.Holds {
		if id < 1 || id > 255 {
			return nil, fmt.Errorf("router ID %d isn't from 1 to 255", id)
		}
		r.Holds = append(r.Holds, uint8(id))
	}
	slices.Sort(r.Holds)
	r.Holds = slices.Compact(r.Holds)
	for i := range doc.Muxes {
		m := &doc.Muxes[i]
		if len(m.Programmed) > maxAddresses {
			return nil, fmt.Errorf("mux %s has %d addresses, and at most %d are read", short(m.UID, maxText),
				len(m.Programmed), maxAddresses)
		}
		addresses, err := parseAddresses(m.Programmed)
		if err != nil {
			return nil, fmt.Errorf("mux %s: %w", short(m.UID, maxText), err)
		}
		refused, more := readRefusals(m.Refused, maxRefused)
		r.Muxes = append(r.Muxes, Mux{types.UID(short(m.UID, maxText)), addresses, refused, more + max(0, m.MoreRefused)})
	}
	slices.SortStableFunc(r.Muxes, func(a, b Mux) int { return strings.Compare(string(a.UID), string(b.UID)) })
	for i := range r.Muxes[min(1, len(r.Muxes)):] {
		if r.Muxes[i].UID == r.Muxes[i+1].UID {
			return nil, fmt.Errorf("mux %s is there twice", r.Muxes[i].UID)
		}
	}
	return r, nil
}

func (doc *probesJSON) probes() (*Probes, error) {
	if doc == nil {
		return nil, nil
	}
	p := &Probes{Settled: doc.Settled}
	if len(doc.Failing) > maxFailing {
		return nil, fmt.Errorf("%d backends fail, and at most %d are read", len(doc.Failing), maxFailing)
	}
	for _, text := range doc.Failing {
		backend, err := netip.ParseAddrPort(text)
		if err != nil || !isPlain(backend.Addr()) || backend.Port() == 0 {
			return nil, fmt.Errorf("%q isn't a backend such as 10.0.0.1:8080", short(text, maxText))
		}
		p.Failing = append(p.Failing, backend)
	}
	return p, nil
}

func (doc *advertsJSON) adverts() (*Adverts, error) {
	if doc == nil {
		return nil, nil
	}
	sends, err := time.ParseDuration(doc.Sends)
	believes, err2 := time.ParseDuration(doc.Believes)
	if err != nil || err2 != nil || sends < 0 || believes < 0 {
		return nil, fmt.Errorf("%q and %q aren't intervals of adverts such as 100ms", short(doc.Sends, maxText),
			short(doc.Believes, maxText))
	}
	return &Adverts{sends, believes}, nil
}

func readRefusals(docs []refusalJSON, most int) ([]Refusal, int) {
	var list []Refusal
	for _, r := range docs[:min(len(docs), most)] {
		list = append(list, Refusal{short(r.Port, maxText), short(r.Reason, maxText), short(r.Message, maxMessage)})
	}
	return list, max(0, len(docs)-most)
}

func parseAddresses(texts []string) ([]netip.Addr, error) {
	var list []netip.Addr
	for _, text := range texts {
		a, err := netip.ParseAddr(text)
		if err != nil || !isPlain(a) {
			return nil, fmt.Errorf("%q isn't an IP address such as 192.0.2.1", short(text, maxText))
		}
		list = append(list, a)
	}
	return sorted(list), nil
}
