package validation

import (
	"slices"
	"strconv"
	"strings"
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

// ExternalDNS holds a mux's annotations for external-dns, or the part of them that we wrote.
type ExternalDNS struct {
	Hostnames []string // sorted, without duplicates, in lower case
	Proxied   Switch
}

// proxiedEntry begins the only entry of aggregated-external-dns that is no DNS name: the proxy setting that we wrote.
const proxiedEntry = "cloudflare-proxied="

// FormatHostnames returns external-dns's hostname annotation.
func FormatHostnames(names []string) string { return strings.Join(names, ",") }

// FormatAggregated returns the aggregated-external-dns annotation: the values that we wrote, such as
// "app.example.com,cloudflare-proxied=true".
func FormatAggregated(ours ExternalDNS) string {
	all := slices.Clone(ours.Hostnames)
	if value := ours.Proxied.String(); value != "" {
		all = append(all, proxiedEntry+value)
	}
	return strings.Join(all, ",")
}

// ParseAggregated parses the aggregated-external-dns annotation. It drops entries that we can't have written, so that
// those count as the owner's and are left alone.
func ParseAggregated(value string) ExternalDNS {
	var ours ExternalDNS
	for entry := range entries(value) {
		if proxied, found := strings.CutPrefix(entry, proxiedEntry); found {
			ours.Proxied = parseSwitch(proxied)
			continue
		}
		if name := canonicalName(entry); isWildHostname(name) {
			ours.Hostnames = append(ours.Hostnames, name)
		}
	}
	ours.sort()
	return ours
}

// parseExternalDNS parses external-dns's annotations. It reports no problems, since other writers own them; an invalid
// name is kept unchanged.
func parseExternalDNS(hostnames, proxied string) ExternalDNS {
	dns := ExternalDNS{Proxied: parseSwitch(proxied)}
	for entry := range entries(hostnames) {
		if name := canonicalName(entry); isWildHostname(name) {
			entry = name
		}
		dns.Hostnames = append(dns.Hostnames, entry)
	}
	dns.sort()
	return dns
}

func (d *ExternalDNS) sort() {
	slices.Sort(d.Hostnames)
	d.Hostnames = slices.Compact(d.Hostnames)
}
