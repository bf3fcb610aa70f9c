package plan

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/types"
)

// Bounds of the annotations for people on the mux. An object's annotations together may have 256 KiB, and the mux's
// owner needs room, too.
const (
	maxChannelsBytes = 24 << 10
	maxTopologyBytes = 40 << 10
)

// notes are the annotations for people on the mux. They depend only on the ports and names on the mux, so that they
// change only with these: each write makes a provider check its load balancer.
type notes struct{ channels, topology, summary string }

func (w *writing) writeNotes(published []*Claim) notes {
	if len(published) == 0 {
		return notes{}
	}
	keys := w.carriedChannels()
	numbers := 0
	for _, claim := range published {
		numbers += claim.Span().size()
	}
	summary := fmt.Sprintf("%d channel(s) | %d port(s)", len(keys), numbers)
	if names := len(w.dns.holders); names > 0 {
		summary += fmt.Sprintf(" | %d DNS name(s)", names)
	}
	return notes{channels: channelList(keys), topology: w.topology(keys), summary: summary}
}

// carriedChannels returns the channels that have ports on the mux, sorted. Some of them may be missing from the cache.
func (w *writing) carriedChannels() []types.NamespacedName {
	keys := make([]types.NamespacedName, 0, len(w.channels))
	for _, c := range w.channels {
		if slices.ContainsFunc(c.claims, w.belongsOnMux) {
			keys = append(keys, c.Key)
		}
	}
	seen := len(keys)
	for key, claims := range w.absent {
		if slices.ContainsFunc(claims, w.belongsOnMux) {
			keys = append(keys, key)
		}
	}
	if len(keys) > seen {
		slices.SortFunc(keys, CompareKeys)
	}
	return keys
}

// topology has a line for each channel, as many as fit, and counts the rest.
func (w *writing) topology(keys []types.NamespacedName) string {
	var b strings.Builder
	for i, key := range keys {
		claims := slices.DeleteFunc(slices.Clone(w.claimsOf(key)), func(c *Claim) bool { return !w.belongsOnMux(c) })
		line := topologyLine(key, claims, w.dns.of[key])
		if b.Len()+len(line)+1 > maxTopologyBytes {
			fmt.Fprintf(&b, "and %d more", len(keys)-i)
			break
		}
		b.WriteString(line + "\n")
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// topologyLine returns a line such as "app/web  http:8080->443/TCP  web.example.com".
func topologyLine(key types.NamespacedName, claims []*Claim, names []string) string {
	slices.SortFunc(claims, func(a, b *Claim) int { return compareIDs(a.Owner, b.Owner) })
	var b strings.Builder
	b.WriteString(key.String())
	for i, claim := range claims {
		separator := ", "
		if i == 0 {
			separator = "  "
		}
		fmt.Fprintf(&b, "%s%s:%d->%s", separator, claim.Owner.Name, claim.Port, claim.Numbers())
	}
	if len(names) > 0 {
		b.WriteString("  " + strings.Join(names, " "))
	}
	return b.String()
}

// String returns a text such as "443/TCP".
func (s Slot) String() string { return strconv.Itoa(int(s.Number)) + "/" + string(s.Protocol) }

// channelList returns a JSON list. Its last entry counts the channels that don't fit.
func channelList(keys []types.NamespacedName) string {
	list := make([]string, 0, len(keys))
	size := 2
	for i, key := range keys {
		if size += len(key.String()) + 3; size > maxChannelsBytes {
			list = append(list, fmt.Sprintf("and %d more", len(keys)-i))
			break
		}
		list = append(list, key.String())
	}
	text, err := json.Marshal(list)
	if err != nil { // can't be: it is a list of strings
		return ""
	}
	return string(text)
}
