package console

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/types"
)

// difference is the difference between two snapshots of a mux.
type difference struct {
	// Revision counts all changes that are sent. A page that reads /api/state tells by the revision which changes that
	// state has already.
	Revision uint64 `json:"revision"`
	// Mux is the mux without its channels.
	Mux json.RawMessage `json:"mux"`
	// Whole says that Changed has all channels.
	Whole   bool              `json:"whole"`
	Changed []json.RawMessage `json:"changed"`
	Removed []string          `json:"removed"` // namespace/name
}

// changesSince returns the difference from an older snapshot, which may be nil. Without a difference it returns nil.
func (s *snapshot) changesSince(before *snapshot) *difference {
	d := &difference{Mux: s.head, Whole: before == nil, Changed: []json.RawMessage{}, Removed: []string{}}
	if before == nil {
		before = &snapshot{}
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
	if err != nil { // its parts are valid JSON already
		return []byte("{}")
	}
	return text
}

// withChannels returns the JSON of the mux with its channels.
func (s *snapshot) withChannels() json.RawMessage {
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
	// a string and a number always marshal
	text, _ := json.Marshal(map[string]any{"revision": revision, "mux": key.String()})
	return text
}
