package record

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
	"nowake.ai/svc-lb-mux/validation"
)

// Decode reads the ledger of a mux. The ConfigMap isn't changed, nor does the result share anything with it.
func Decode(cm *corev1.ConfigMap, mux types.NamespacedName, keys validation.Keys) plan.Reading {
	d := decoding{cm: cm, mux: mux, keys: keys}
	reading := d.newest()
	reading.Name, reading.Unlabelled = cm.Name, reading.Condition == plan.Good && !d.labelled()
	if reading.Why != "" {
		reading.Why = "ConfigMap " + cm.Namespace + "/" + cm.Name + ": " + reading.Why
	}
	return reading
}

// decoding is the reading of one ConfigMap.
type decoding struct {
	cm   *corev1.ConfigMap
	mux  types.NamespacedName
	keys validation.Keys
}

// labelled is true if the labels match Selector, so that the cache shows the ConfigMap.
func (d *decoding) labelled() bool {
	component := d.cm.Labels[componentLabel]
	return d.cm.Labels[nameLabel] == nameValue && (component == componentValue || component == componentBefore)
}

// stamped returns the generation in the annotation, which the original leaves alone; 0 without an annotation.
func (d *decoding) stamped() int64 {
	generation, _ := validation.ParseGeneration(d.cm.Annotations[d.keys.Generation])
	return generation
}

// newest reads the texts under both keys, and returns the one that counts. Our writes replace both. So both exist only
// after the original wrote the plain one, or after an edit by hand. The annotation says whose ledger the ConfigMap is,
// since no label names the mux. The next write mends a missing label.
func (d *decoding) newest() plan.Reading {
	if annotated := d.cm.Annotations[d.keys.Mux]; annotated != d.mux.String() {
		return plan.Reading{Condition: plan.Foreign, Why: textForeign(annotated, d.mux, d.keys)}
	}
	text, err := unpack(d.cm.BinaryData[PackedKey])
	if err != nil {
		return plan.Reading{Condition: plan.Unreadable, Why: textUnpack(err)}
	}
	plain, packed := d.read(PlainKey, []byte(d.cm.Data[PlainKey])), d.read(PackedKey, text)
	switch {
	case plain.Condition > plan.Missing:
		return plain
	case packed.Condition > plan.Missing:
		return packed
	case plain.Condition == plan.Missing && packed.Condition == plan.Missing: // another writer emptied the ConfigMap
		return d.reading(plan.Ledger{Mux: d.mux, Generation: d.stamped()}, d.stamped() == 0)
	case plain.Condition == plan.Missing, packed.Condition != plan.Missing &&
		packed.Ledger.Generation > plain.Ledger.Generation:
		return packed
	}
	return plain
}

// read reads a text. Without a text, the ledger is Missing.
func (d *decoding) read(key string, text []byte) plan.Reading {
	if len(text) == 0 {
		return plan.Reading{Condition: plan.Missing}
	}
	doc, err := parse(text)
	switch {
	case doc.SchemaVersion > versionWithRanges:
		return plan.Reading{Condition: plan.Newer, Why: textNewer(key, doc.SchemaVersion)}
	case err != nil:
		return plan.Reading{Condition: plan.Unreadable, Why: textUnreadable(key, err)}
	case !doc.Mux.empty() && doc.Mux.key() != d.mux:
		return plan.Reading{Condition: plan.Foreign,
			Why: textForeignText(key, doc.Mux.key(), d.mux, d.keys.AllocationConfigMap)}
	}
	ledger, err := doc.ledger(d.mux)
	switch {
	case err != nil:
		return plan.Reading{Condition: plan.Unreadable, Why: textUnreadable(key, err)}
	case doc.Checksum != "":
		return d.reading(ledger, fits(text, doc.Checksum))
	case doc.Generation == 0:
		// The original wrote the text. If the ledger never was ours, it has no annotation either.
		ledger.Generation = d.stamped()
	}
	return d.reading(ledger, ledger.Generation == 0)
}

// reading returns a Good reading if the text is as we or the original wrote it, or else an Edited one.
func (d *decoding) reading(ledger plan.Ledger, asWritten bool) plan.Reading {
	if asWritten {
		return plan.Reading{Ledger: ledger}
	}
	return plan.Reading{Condition: plan.Edited, Ledger: ledger, Why: textEdited(ledger.Generation)}
}
