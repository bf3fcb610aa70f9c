package lease

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kube "k8s.io/apimachinery/pkg/util/validation"

	"nowake.ai/svc-lb-mux/validation"
)

// Write writes the gateway into its Lease: name, labels, annotations and spec. It leaves foreign annotations. Equal
// gateways give equal Leases. It fails, and changes nothing, if Read wouldn't read the facts back as they are. A report
// that is too long is cut, and says so.
func (g *Gateway) Write(lease *coordinationv1.Lease, keys validation.Keys) error {
	if err := g.check(); err != nil {
		return fmt.Errorf("gateway %q: %w", short(g.Name, maxText), err)
	}
	facts, err := json.Marshal(g.Facts.document())
	if err != nil {
		return fmt.Errorf("gateway %s: facts that can't be written: %w", g.Name, err)
	}
	if len(facts) > factsLimit {
		return fmt.Errorf("gateway %s: the facts take %d bytes, and there is room for %d: list fewer networks of backends",
			g.Name,
			len(facts), factsLimit)
	}
	report := ""
	if g.Report != nil {
		report = g.Report.encode()
	}
	lease.Name = Name(g.Name)
	lease.Labels = maps.Clone(g.Labels)
	if lease.Labels == nil {
		lease.Labels = map[string]string{}
	}
	lease.Labels[keys.Pool] = g.Pool
	lease.Annotations = maps.Clone(lease.Annotations)
	if lease.Annotations == nil {
		lease.Annotations = map[string]string{}
	}
	lease.Annotations[keys.GatewayFacts] = string(facts)
	delete(lease.Annotations, keys.GatewayReport)
	if report != "" {
		lease.Annotations[keys.GatewayReport] = report
	}
	delete(lease.Annotations, keys.GatewayTraffic)
	if g.Traffic != nil {
		lease.Annotations[keys.GatewayTraffic] = g.Traffic.encode()
	}
	renewed, seconds := metav1.NewMicroTime(g.RenewedAt.UTC().Truncate(time.Microsecond)), int32(g.Duration/time.Second)
	holder := g.Holder
	lease.Spec.RenewTime, lease.Spec.LeaseDurationSeconds, lease.Spec.HolderIdentity = &renewed, &seconds, &holder
	return nil
}

func (g *Gateway) check() error {
	_, nameable := GatewayOf(Name(g.Name))
	switch {
	case !nameable || len(Name(g.Name)) > maxText:
		return fmt.Errorf("it can't be a gateway's name: use lower-case letters, digits and dashes, at most %d",
			maxText-len(NamePrefix))
	case len(kube.IsDNS1123Label(g.Pool)) > 0:
		return fmt.Errorf("pool %q can't be a pool's name: use lower-case letters, digits and dashes", short(g.Pool, maxText))
	case g.Duration < time.Second || g.Duration > maxDuration || g.Duration%time.Second != 0:
		return fmt.Errorf("the Lease's duration %s must be whole seconds, from 1s to %s", g.Duration, maxDuration)
	case g.Facts == nil:
		return errors.New("there are no facts about the machine")
	}
	f := g.Facts
	for what, text := range map[string]string{"node": f.Node, "zone": f.Zone, "version": f.Version, "holder": g.Holder} {
		if len(text) > maxText || !utf8.ValidString(text) {
			return fmt.Errorf("%s %q is longer than %d bytes, or isn't text", what, short(text, maxText), maxText)
		}
	}
	switch {
	case f.Capacity < 0 || f.Capacity > maxCapacity:
		return fmt.Errorf("capacity %d isn't from 0 to %d", f.Capacity, maxCapacity)
	case len(f.Addresses) > maxAddresses || len(f.BackendNetworks) > maxNetworks:
		return fmt.Errorf("%d addresses and %d networks of backends: at most %d and %d are allowed", len(f.Addresses),
			len(f.BackendNetworks), maxAddresses, maxNetworks)
	}
	for _, a := range f.Addresses {
		if !isPlain(a) {
			return fmt.Errorf("address %s isn't a plain IP address such as 192.0.2.1", a)
		}
	}
	for _, n := range f.BackendNetworks {
		if !isNetwork(n) {
			return fmt.Errorf("network %s isn't a network such as 192.0.2.0/24", n)
		}
	}
	return nil
}

// encode returns the report as JSON of at most reportLimit bytes. Of a report that is too long, messages go first, then
// muxes from the end; Omitted counts them.
func (r *Report) encode() string {
	doc := r.document()
	text := marshal(doc)
	if len(text) <= reportLimit {
		return text
	}
	for i := range doc.Muxes {
		for j := range doc.Muxes[i].Refused {
			doc.Muxes[i].Refused[j].Message = ""
		}
	}
	// Find how many muxes fit: each mux only adds to the length.
	all, omitted := doc.Muxes, doc.Omitted
	low, high := 0, len(all)
	for low < high {
		most := (low + high + 1) / 2
		doc.Muxes, doc.Omitted = all[:most], omitted+len(all)-most
		if len(marshal(doc)) <= reportLimit {
			low = most
			continue
		}
		high = most - 1
	}
	doc.Muxes, doc.Omitted = all[:low], omitted+len(all)-low
	return marshal(doc)
}

// marshal can't fail: the document has only texts and numbers.
func marshal(doc *reportJSON) string {
	text, _ := json.Marshal(doc)
	return string(text)
}

// sorted returns the plain addresses, sorted, each once, and at most the limit.
func sorted(list []netip.Addr) []netip.Addr {
	list = slices.DeleteFunc(slices.Clone(list), func(a netip.Addr) bool { return !isPlain(a) })
	slices.SortFunc(list, netip.Addr.Compare)
	list = slices.Compact(list)
	return list[:min(len(list), maxAddresses)]
}

func isPlain(a netip.Addr) bool { return a.IsValid() && a.Zone() == "" && !a.Is4In6() }

func isNetwork(n netip.Prefix) bool { return n.IsValid() && isPlain(n.Addr()) && n == n.Masked() }

func sortNetworks(list []netip.Prefix) {
	slices.SortFunc(list, func(a, b netip.Prefix) int {
		return cmp.Or(a.Addr().Compare(b.Addr()), cmp.Compare(a.Bits(), b.Bits()))
	})
}

// short returns valid text of at most so many bytes.
func short(text string, most int) string {
	if len(text) > most {
		text = text[:most]
	}
	return strings.ToValidUTF8(text, "")
}
