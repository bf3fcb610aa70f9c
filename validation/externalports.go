package validation

import (
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// RequestKind says how a channel port asks for its public port.
type RequestKind uint8

// The kinds of requests. The zero value is a request that couldn't be parsed: no decision may use it.
const (
	Unread RequestKind = iota
	Own                // the port's own number
	Number             // another number, or a range of numbers
	Auto               // any number in the mux's range
)

// Request is a channel port's request for a public port.
type Request struct {
	Kind   RequestKind
	Number int32 // set for Own and Number
	Last   int32 // the last number of a range; 0 without a range
}

// IsRange is true for a request of several numbers.
func (r Request) IsRange() bool { return r.Last > r.Number }

// Run returns the requested numbers of Own and Number.
func (r Request) Run() PortRange { return PortRange{r.Number, max(r.Number, r.Last)} }

func (r Request) String() string {
	switch r.Kind {
	case Own, Number:
		return r.Run().String()
	case Auto:
		return auto
	case Unread:
	}
	return "?"
}

// auto asks for any free number. Users may write it in upper or lower case.
const auto = "auto"

// parseExternalPorts parses "http:8080,grpc:auto,rtp:10000-10099" into the requests of the named ports. Index maps a
// port's name to its position.
func parseExternalPorts(n *note, channel []ChannelPort, index map[string]int) {
	seen := make([]bool, len(channel))
	var names []string // collected at the first unknown name: a channel may have thousands of ports
	for entry := range entries(n.value) {
		if n.full() {
			return
		}
		name, value, ok := cut(entry, ":")
		if !ok || name == "" || value == "" {
			n.problem("", entry, textPortEntry(entry))
			continue
		}
		request, understood := parseRequest(value)
		i, known := index[name]
		switch {
		case !known:
			if names == nil {
				names = portNames(channel)
			}
			n.problem(name, entry, textUnknownPort(name, names))
		case seen[i]:
			n.problem(name, entry, textPortNamedTwice(name))
		default:
			seen[i] = true
			channel[i].Request = request
			warnRedundant(n, channel[i], entry)
		}
		if !understood {
			n.problem(name, entry, textOverride(name, value))
		}
	}
}

// portNames returns the valid names of a channel's ports.
func portNames(channel []ChannelPort) []string {
	names := make([]string, 0, len(channel))
	for _, port := range channel {
		if IsLabel(port.Name) {
			names = append(names, port.Name)
		}
	}
	return names
}

func parseRequest(value string) (Request, bool) {
	if strings.EqualFold(value, auto) {
		return Request{Kind: Auto}, true
	}
	first, last, isRange := cut(value, "-")
	if !isRange {
		last = first
	}
	from, ok := portNumber(first)
	to, ok2 := portNumber(last)
	if !ok || !ok2 || from > to {
		return Request{}, false
	}
	request := Request{Kind: Number, Number: from}
	if to > from {
		request.Last = to
	}
	return request, true
}

func warnRedundant(n *note, port ChannelPort, entry string) {
	if port.Request.Kind == Number && !port.Request.IsRange() && port.Request.Number == port.Port {
		n.warn(RedundantOverride, port.Name, entry, textRedundant(port.Name, port.Port))
	}
}

// refuseClashes reports ports that ask for the same number and protocol. It sorts the requests by number, so that the
// cost stays low for thousands of ports. It compares each request with one earlier request of the same protocol: the
// one with the highest last number.
func refuseClashes(n *note, channel []ChannelPort) {
	asked := make([]uint64, 0, len(channel))
	for i, port := range channel {
		if asksForNumber(port) {
			asked = append(asked, claimKey(port)|uint64(i)) //nolint:gosec // an index is never negative
		}
	}
	if len(asked) < 2 {
		return
	}
	slices.Sort(asked)
	furthest := map[corev1.Protocol]*ChannelPort{}
	for _, key := range asked {
		port := &channel[uint32(key)] //nolint:gosec // the low half is the index
		before, asks := furthest[port.Protocol], port.Request.Run()
		if before != nil && asks.First <= before.Request.Run().Last {
			if n.full() {
				return
			}
			common := PortRange{asks.First, min(asks.Last, before.Request.Run().Last)}
			numbers := common.String() + "/" + string(port.Protocol)
			n.problem(port.Name, numbers, textClash(before.Name, port.Name, numbers))
		}
		if before == nil || asks.Last > before.Request.Run().Last {
			furthest[port.Protocol] = port
		}
	}
}

// asksForNumber says that the request can clash with another one. Invalid numbers and protocols are reported elsewhere.
func asksForNumber(port ChannelPort) bool {
	request := port.Request
	return (request.Kind == Own || request.Kind == Number) && request.Number >= MinPort && request.Number <= MaxPort &&
		protocol(port.Protocol) != 0
}

// claimKey returns a sort key: by number, then protocol. Its low 32 bits are free for an index.
func claimKey(port ChannelPort) uint64 {
	number := uint64(port.Request.Number) //nolint:gosec // asksForNumber keeps it above 0
	return number<<40 | uint64(protocol(port.Protocol))<<32
}

// portAndProtocol formats a port for messages: 80/TCP.
func portAndProtocol(number int32, p corev1.Protocol) string {
	return strconv.Itoa(int(number)) + "/" + string(p)
}
