package validation

import (
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// Annotations that we write on Services and parse again.

// PortMapping is one entry of a channel's ports annotation: a port and its public number.
type PortMapping struct {
	Name   string
	Port   int32 // the channel's number
	Public int32 // the mux's number
	Last   int32 // the mux's last number, if the port has a range; otherwise 0
}

// FormatPorts returns the ports annotation, such as "http:80->8080, rtp:9090->20000-20099", in the order given.
func FormatPorts(mappings []PortMapping) string { return string(AppendPorts(nil, mappings)) }

// AppendPorts appends the ports annotation to a buffer, so that a comparison needs no new string.
func AppendPorts(to []byte, mappings []PortMapping) []byte {
	for i, m := range mappings {
		if i > 0 {
			to = append(to, ", "...)
		}
		to = append(append(to, m.Name...), ':')
		to = append(strconv.AppendInt(to, int64(m.Port), 10), "->"...)
		to = strconv.AppendInt(to, int64(m.Public), 10)
		if m.Last > m.Public {
			to = strconv.AppendInt(append(to, '-'), int64(m.Last), 10)
		}
	}
	return to
}

// ParsePorts parses a ports annotation. It returns false, and no mappings, if any entry is malformed or a name repeats.
func ParsePorts(value string) ([]PortMapping, bool) {
	var mappings []PortMapping
	seen := map[string]bool{}
	for entry := range entries(value) {
		name, numbers, _ := cut(entry, ":")
		own, public, _ := cut(numbers, "->")
		from, ok := portNumber(own)
		to, ok2 := parseRequest(public)
		if !ok || !ok2 || to.Kind != Number || !IsLabel(name) || seen[name] {
			return nil, false
		}
		seen[name] = true
		mappings = append(mappings, PortMapping{Name: name, Port: from, Public: to.Number, Last: to.Last})
	}
	return mappings, true
}

// FormatGeneration returns the generation annotation.
func FormatGeneration(generation int64) string { return strconv.FormatInt(generation, 10) }

// ParseGeneration parses a generation annotation. It returns false if we can't have written it.
func ParseGeneration(value string) (int64, bool) { return number(value, 1<<63-1) }

// Switch is a boolean annotation of external-dns that may be absent.
type Switch uint8

// The states of a Switch. Garbled is neither true nor false: it is left unchanged for its owner to correct.
const (
	Unset Switch = iota
	On
	Off
	Garbled
)

func parseSwitch(value string) Switch {
	switch trim(value) {
	case "":
		return Unset
	case "true":
		return On
	case "false":
		return Off
	}
	return Garbled
}

func (s Switch) String() string {
	switch s {
	case On:
		return "true"
	case Off:
		return "false"
	case Unset, Garbled:
	}
	return ""
}

// ExternalDNS holds the values of external-dns's annotations on a mux under one prefix, or the part of them that we
// wrote.
type ExternalDNS struct {
	Hostnames []string // sorted, without duplicates, in lower case
	Proxied   Switch
}

// MuxDNS holds an ExternalDNS for each of ExternalDNSOnMux.
type MuxDNS [2]ExternalDNS

// proxiedEntry begins the only entries of aggregated-external-dns that are no DNS names: the proxy setting that we
// wrote.
const proxiedEntry = "cloudflare-proxied="

// FormatHostnames returns external-dns's hostname annotation.
func FormatHostnames(names []string) string { return strings.Join(names, ",") }

// FormatAggregated returns the aggregated-external-dns annotation: the values that we wrote, such as
// "app.example.com,cloudflare-proxied=true". A value that we wrote under one prefix alone, because the mux's owner has
// it under the other, has that prefix and a slash before it. Releases that know one prefix skip such an entry.
func FormatAggregated(ours MuxDNS) string {
	var all []string
	names := slices.Sorted(slices.Values(slices.Concat(ours[0].Hostnames, ours[1].Hostnames)))
	for _, name := range slices.Compact(names) {
		has := func(dns *ExternalDNS) bool { return slices.Contains(dns.Hostnames, name) }
		all = append(all, writtenUnder(has(&ours[0]), has(&ours[1]), name))
	}
	if ours[0].Proxied == ours[1].Proxied {
		ours[1].Proxied = Unset
		if value := ours[0].Proxied.String(); value != "" {
			return strings.Join(append(all, proxiedEntry+value), ",")
		}
	}
	for i := range ours {
		if value := ours[i].Proxied.String(); value != "" {
			all = append(all, writtenUnder(i == 0, i == 1, proxiedEntry+value))
		}
	}
	return strings.Join(all, ",")
}

// writtenUnder returns an entry of aggregated-external-dns.
func writtenUnder(former, current bool, entry string) string {
	switch prefixes := ExternalDNSPrefixes(); {
	case former && current:
		return entry
	case former:
		return prefixes[0] + "/" + entry
	default:
		return prefixes[1] + "/" + entry
	}
}

// ParseAggregated parses the aggregated-external-dns annotation. It drops entries that we can't have written, so that
// those count as the owner's and are left alone.
func ParseAggregated(value string) MuxDNS {
	var ours MuxDNS
	prefixes := ExternalDNSPrefixes()
	for entry := range entries(value) {
		alone := slices.IndexFunc(prefixes, func(prefix string) bool { return strings.HasPrefix(entry, prefix+"/") })
		if alone >= 0 {
			entry = strings.TrimPrefix(entry, prefixes[alone]+"/")
		}
		for i := range ours {
			if alone < 0 || alone == i {
				ours[i].wrote(entry)
			}
		}
	}
	for i := range ours {
		ours[i].sort()
	}
	return ours
}

// wrote adds an entry of aggregated-external-dns.
func (d *ExternalDNS) wrote(entry string) {
	if proxied, found := strings.CutPrefix(entry, proxiedEntry); found {
		d.Proxied = parseSwitch(proxied)
		return
	}
	if name := canonicalName(entry); isWildHostname(name) {
		d.Hostnames = append(d.Hostnames, name)
	}
}

// parseExternalDNS parses external-dns's annotations on a mux. It reports no problems, since other writers own them; an
// invalid name is kept unchanged.
func parseExternalDNS(svc *corev1.Service) MuxDNS {
	var all MuxDNS
	for i, keys := range ExternalDNSOnMux() {
		dns := ExternalDNS{Proxied: parseSwitch(svc.Annotations[keys.Proxied])}
		for entry := range entries(svc.Annotations[keys.Hostname]) {
			if name := canonicalName(entry); isWildHostname(name) {
				entry = name
			}
			dns.Hostnames = append(dns.Hostnames, entry)
		}
		dns.sort()
		all[i] = dns
	}
	return all
}

func isExternalDNSKey(key string) bool {
	for _, keys := range ExternalDNSOnMux() {
		if key == keys.Hostname || key == keys.Proxied {
			return true
		}
	}
	return false
}

func (d *ExternalDNS) sort() {
	slices.Sort(d.Hostnames)
	d.Hostnames = slices.Compact(d.Hostnames)
}
