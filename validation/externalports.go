package validation

import (
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// RequestKind says how a channel asks for a public port.
type RequestKind uint8

// The ways to ask. The zero value is a request that couldn't be understood: nothing may be decided from it.
const (
	Unread RequestKind = iota
	Own                // the port's own number
	Number             // another number
	Auto               // any number in the mux's range
)

// Request is which public port a channel's port asks for.
type Request struct {
	Kind   RequestKind
	Number int32 // for Own and Number
}

func (r Request) String() string {
	switch r.Kind {
	case Own, Number:
		return strconv.Itoa(int(r.Number))
	case Auto:
		return auto
	case Unread:
	}
	return "?"
}

// auto asks for any number; users may write it in any case.
const auto = "auto"

// parseExternalPorts reads "http:8080,grpc:auto" into the requests of the ports it names; index says where each is.
func parseExternalPorts(n *note, channel []ChannelPort, index map[string]int) {
	seen := make([]bool, len(channel))
	var names []string // gathered once, of thousands, for dozens of mistakes
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

// portNames are the names that a channel's ports may be called by.
func portNames(channel []ChannelPort) []string {
	names := make([]string, 0, len(channel))
	for _, port := range channel {
		if isLabel(port.Name) {
			names = append(names, port.Name)
		}
	}
	return names
}

func parseRequest(value string) (Request, bool) {
	if strings.EqualFold(value, auto) {
		return Request{Kind: Auto}, true
	}
	number, ok := portNumber(value)
	if !ok {
		return Request{}, false
	}
	return Request{Kind: Number, Number: number}, true
}

func warnRedundant(n *note, port ChannelPort, entry string) {
	if port.Request.Kind == Number && port.Request.Number == port.Port {
		n.warn(RedundantOverride, port.Name, entry, textRedundant(port.Name, port.Port))
	}
}

// refuseClashes looks for one number and protocol asked for twice. It sorts, so that thousands of ports take no
// more than their share.
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
	first := asked[0]
	for _, next := range asked[1:] {
		if next>>32 != first>>32 {
			first = next
			continue
		}
		if n.full() {
			return
		}
		a, b := channel[uint32(first)], channel[uint32(next)] //nolint:gosec // the low half is the index
		number := portAndProtocol(b.Request.Number, b.Protocol)
		n.problem(b.Name, number, textClash(a.Name, b.Name, number))
	}
}

// asksForNumber is true for a request that another could clash with. Numbers and protocols that aren't any are
// complained about elsewhere.
func asksForNumber(port ChannelPort) bool {
	request := port.Request
	return (request.Kind == Own || request.Kind == Number) && request.Number >= MinPort && request.Number <= MaxPort &&
		protocol(port.Protocol) != 0
}

// claimKey sorts by number, then protocol; its low half is free for an index.
func claimKey(port ChannelPort) uint64 {
	number := uint64(port.Request.Number) //nolint:gosec // asksForNumber keeps it above 0
	return number<<40 | uint64(protocol(port.Protocol))<<32
}

// portAndProtocol is how a port is named to people: 80/TCP.
func portAndProtocol(number int32, p corev1.Protocol) string {
	return strconv.Itoa(int(number)) + "/" + string(p)
}
