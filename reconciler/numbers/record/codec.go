package record

import (
	"k8s.io/apimachinery/pkg/labels"

	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
	"nowake.ai/svc-lb-mux/validation"
)

// These are the keys under which a ConfigMap holds a ledger.
const (
	// PlainKey is the key in data.
	PlainKey = "allocations.json"
	// PackedKey is the key in binaryData.
	PackedKey = "allocations.json.gz"
)

// Sizes of a ledger's text.
const (
	// PlainLimit is the size of the largest text that is stored uncompressed. The API server takes 1 MiB; the rest is for
	// others' keys.
	PlainLimit = 900 << 10
	// PackedLimit is the size of the largest compressed text: what the API server takes.
	PackedLimit = 1 << 20
	// UnpackedLimit is the size of the largest text after decompression. Decode doesn't read a larger one.
	UnpackedLimit = 16 << 20
)

// Labels of a ConfigMap that is a ledger.
const (
	nameLabel      = "app.kubernetes.io/name"
	nameValue      = "svc-lb-mux"
	componentLabel = "app.kubernetes.io/component"
	componentValue = "mux-state"
	// componentBefore is the label that the original's first versions wrote. Its later versions left the label as it was.
	componentBefore = "port-allocation"
)

// Selector selects ledgers, also those of the original's first versions. The cache uses it.
func Selector() labels.Selector {
	selector, err := labels.Parse(nameLabel + "=" + nameValue + "," +
		componentLabel + " in (" + componentValue + "," + componentBefore + ")")
	if err != nil {
		return labels.Nothing() // can't be: the text is constant, and a test parses it
	}
	return selector
}

// Contents are our part of a ConfigMap.
type Contents struct {
	Labels      map[string]string
	Annotations map[string]string
	// Plain is the value of PlainKey, and Packed the value of PackedKey. One of them is empty, and its key must be
	// removed.
	Plain  string
	Packed []byte
	// Ledger is what Decode will read.
	Ledger plan.Ledger
}

// Encode returns what a ConfigMap must hold to be the ledger: equal ledgers give equal contents. It fails for a ledger
// that Decode wouldn't read back unchanged, apart from the order of entries and from fractions of seconds.
func Encode(ledger plan.Ledger, keys validation.Keys) (Contents, error) {
	contents := Contents{
		Labels: map[string]string{nameLabel: nameValue, componentLabel: componentValue},
		Annotations: map[string]string{
			keys.Mux:        ledger.Mux.String(),
			keys.Generation: validation.FormatGeneration(ledger.Generation),
		},
	}
	doc := toDocument(ledger)
	var err error
	if contents.Ledger, err = doc.ledger(ledger.Mux); err != nil {
		return Contents{}, unwritable(ledger.Mux, err)
	}
	plain, err := doc.text()
	if err != nil {
		return Contents{}, unwritable(ledger.Mux, err)
	}
	if len(plain) <= PlainLimit {
		contents.Plain = string(plain)
		return contents, nil
	}
	doc.Allocations = nil
	if contents.Packed, err = doc.packed(); err != nil {
		return Contents{}, unwritable(ledger.Mux, err)
	}
	if len(contents.Packed) > PackedLimit {
		return Contents{}, errTooLarge(ledger.Mux, len(ledger.Claims), len(contents.Packed))
	}
	return contents, nil
}
