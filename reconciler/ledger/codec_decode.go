package ledger

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/reconciler/plan"
	"nowake.ai/svc-lb-mux/validation"
)

// decoding is the reading of one ConfigMap.
type decoding struct {
	cm   *corev1.ConfigMap
	mux  types.NamespacedName
	keys validation.Keys
}

// found is a ledger that can be gone by.
type found struct {
	ledger plan.Ledger
	// written is true if the text is what one of us wrote: ours fits its checksum, the original's has none.
	written bool
}

// refusal is why there is none.
type refusal struct {
	condition plan.Condition
	text      string
}

// ours is true if the ConfigMap says that it is the mux's. The annotation decides: it names the mux, which no label
// does. A label that is missing is mended at the next write.
func (d *decoding) ours() bool { return d.cm.Annotations[d.keys.Mux] == d.mux.String() }

// labelled is true if the cache, which goes by labels, can see it.
func (d *decoding) labelled() bool {
	component := d.cm.Labels[componentLabel]
	return d.cm.Labels[nameLabel] == nameValue && (component == componentValue || component == componentBefore)
}

// stamped is the generation in the annotation, which the original leaves alone; 0 if there is none.
func (d *decoding) stamped() int64 {
	generation, ok := validation.ParseGeneration(d.cm.Annotations[d.keys.Generation])
	if !ok {
		return 0
	}
	return generation
}

// newest reads what is there under both keys, and returns what counts. What we wrote replaced all there was; so both
// are there only if the original wrote the plain one after us, or somebody put one there by hand.
func (d *decoding) newest() (found, *refusal) {
	plain, refused := d.read(PlainKey, []byte(d.cm.Data[PlainKey]))
	if refused != nil {
		return found{}, refused
	}
	text, err := unpack(d.cm.BinaryData[PackedKey])
	if err != nil {
		return found{}, &refusal{plan.Unreadable, textUnpack(err)}
	}
	packed, refused := d.read(PackedKey, text)
	if refused != nil {
		return found{}, refused
	}
	switch {
	case plain == nil && packed == nil: // emptied by somebody
		return found{ledger: plan.Ledger{Mux: d.mux, Generation: d.stamped()}, written: d.stamped() == 0}, nil
	case plain == nil || packed != nil && packed.ledger.Generation > plain.ledger.Generation:
		return *packed, nil
	}
	return *plain, nil
}

// read reads a text; nil if there is none.
func (d *decoding) read(key string, text []byte) (*found, *refusal) {
	if len(text) == 0 {
		return nil, nil
	}
	doc, err := parse(text)
	switch {
	case doc.SchemaVersion > schemaVersion:
		return nil, &refusal{plan.Newer, textNewer(key, doc.SchemaVersion)}
	case err != nil:
		return nil, &refusal{plan.Unreadable, textUnreadable(key, err)}
	case !doc.Mux.empty() && doc.Mux.key() != d.mux:
		return nil, &refusal{plan.Foreign, textForeignText(key, doc.Mux.key(), d.mux, d.keys.AllocationConfigMap)}
	}
	ledger, err := doc.ledger(d.mux)
	if err != nil {
		return nil, &refusal{plan.Unreadable, textUnreadable(key, err)}
	}
	if doc.Checksum != "" {
		return &found{ledger, fits(text, doc.Checksum)}, nil
	}
	if doc.Generation == 0 {
		// The original's, if it never was ours: then the annotation says nothing either.
		ledger.Generation = d.stamped()
	}
	return &found{ledger, ledger.Generation == 0}, nil
}

func (d *decoding) foreignText() string {
	return textForeign(d.cm.Annotations[d.keys.Mux], d.mux, d.keys)
}

// why names the ConfigMap.
func (d *decoding) why(text string) string {
	return "ConfigMap " + d.cm.Namespace + "/" + d.cm.Name + ": " + text
}
