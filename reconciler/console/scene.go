package console

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/types"
)

// difference is what is told of a mux that was seen before.
type difference struct {
	// Revision counts with everything that is told; a page that asks for JSON learns by it what it knows already.
	Revision uint64 `json:"revision"`
	// Mux is all of it but its channels.
	Mux json.RawMessage `json:"mux"`
	// Whole is true if Changed are all channels that there are.
	Whole   bool              `json:"whole"`
	Changed []json.RawMessage `json:"changed"`
	Removed []string          `json:"removed"` // namespace/name
}

// since is what is different from a scene before, which may be nil; nil if nothing is.
func (s *scene) since(before *scene) *difference {
	d := &difference{Mux: s.head, Whole: before == nil, Changed: []json.RawMessage{}, Removed: []string{}}
	if before == nil {
		before = &scene{}
	}
	for _, key := range slices.Sorted(maps.Keys(s.channels)) {
		if !bytes.Equal(s.channels[key], before.channels[key]) {
			d.Changed = append(d.Changed, s.channels[key])
		}
	}
	for _, key := range slices.Sorted(maps.Keys(before.channels)) {
		if _, stays := s.channels[key]; !stays {
			d.Removed = append(d.Removed, key)
		}
	}
	if !d.Whole && len(d.Changed)+len(d.Removed) == 0 && bytes.Equal(s.head, before.head) {
		return nil
	}
	return d
}

func (d *difference) json(revision uint64) []byte {
	d.Revision = revision
	text, err := json.Marshal(d)
	if err != nil { // it is made of what was marshalled before
		return []byte("{}")
	}
	return text
}

// whole is a mux with its channels, as one value.
func (s *scene) whole() json.RawMessage {
	var b bytes.Buffer
	b.Write(bytes.TrimSuffix(s.head, []byte("}")))
	b.WriteString(`,"channels":[`)
	for i, key := range slices.Sorted(maps.Keys(s.channels)) {
		if i > 0 {
			b.WriteByte(',')
		}
		b.Write(s.channels[key])
	}
	b.WriteString("]}")
	return b.Bytes()
}

func goneOf(key types.NamespacedName, revision uint64) []byte {
	text, _ := json.Marshal(map[string]any{"revision": revision, "mux": key.String()}) // a string and a number
	return text
}
