package validation

import (
	"slices"
	"strconv"
	"strings"
)

// What we write on Services, and read back.

// PortMapping is one entry of a channel's ports annotation: what a port of it was given.
type PortMapping struct {
	Name   string
	Port   int32 // its own number
	Public int32 // the mux's
}

// FormatPorts returns the ports annotation, such as "http:80->8080, grpc:9090->20001", in the order given.
func FormatPorts(mappings []PortMapping) string { return string(AppendPorts(nil, mappings)) }

// AppendPorts appends what FormatPorts returns: to compare it with what is there takes no string of its own.
func AppendPorts(to []byte, mappings []PortMapping) []byte {
	for i, m := range mappings {
		if i > 0 {
			to = append(to, ", "...)
		}
		to = append(append(to, m.Name...), ':')
		to = append(strconv.AppendInt(to, int64(m.Port), 10), "->"...)
		to = strconv.AppendInt(to, int64(m.Public), 10)
	}
	return to
}

// ParsePorts reads a ports annotation; false, and nothing, if any of it is malformed or a name is there twice.
func ParsePorts(value string) ([]PortMapping, bool) {
	var mappings []PortMapping
	seen := map[string]bool{}
	for entry := range entries(value) {
		name, numbers, _ := cut(entry, ":")
		own, public, _ := cut(numbers, "->")
		from, ok := portNumber(own)
		to, ok2 := portNumber(public)
		if !ok || !ok2 || !isLabel(name) || seen[name] {
			return nil, false
		}
		seen[name] = true
		mappings = append(mappings, PortMapping{Name: name, Port: from, Public: to})
	}
	return mappings, true
}

// FormatGeneration returns the generation annotation.
func FormatGeneration(generation int64) string { return strconv.FormatInt(generation, 10) }

// ParseGeneration reads a generation annotation; false if we can't have written it.
func ParseGeneration(value string) (int64, bool) { return number(value, 1, 1<<63-1) }

// Switch is a setting of somebody else's that may also be absent.
type Switch uint8

// The states of a Switch. Garbled is set, to neither true nor false: its owner's business, so it is left alone.
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

// ExternalDNS is what external-dns is told by a mux, or the part of it that is ours.
type ExternalDNS struct {
	Hostnames []string // sorted, each once; names are in lower case
	Proxied   Switch
}

// proxiedEntry begins the entry of aggregated-external-dns that isn't a name.
const proxiedEntry = "cloudflare-proxied="

// FormatHostnames returns external-dns's hostname annotation.
func FormatHostnames(names []string) string { return strings.Join(names, ",") }

// FormatAggregated returns the aggregated-external-dns annotation: the values that are ours, as in
// "app.example.com,cloudflare-proxied=true".
func FormatAggregated(ours ExternalDNS) string {
	all := slices.Clone(ours.Hostnames)
	if value := ours.Proxied.String(); value != "" {
		all = append(all, proxiedEntry+value)
	}
	return strings.Join(all, ",")
}

// ParseAggregated reads it. What can't be ours isn't listed: then it is the owner's, and left alone.
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

// parseExternalDNS reads what external-dns reads. It is never judged, as anyone may write there: what is no name is
// kept as it is.
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
