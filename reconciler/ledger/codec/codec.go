package codec

import (
	"k8s.io/apimachinery/pkg/labels"

	"nowake.ai/svc-lb-mux/reconciler/plan"
	"nowake.ai/svc-lb-mux/validation"
)

// Where a ConfigMap holds a ledger.
const (
	// PlainKey is the key in data.
	PlainKey = "allocations.json"
	// PackedKey is the key in binaryData.
	PackedKey = "allocations.json.gz"
)

// Sizes of a ledger's text.
const (
	// PlainLimit is how long a text is stored as it is. The API server takes 1 MiB; the rest is for others' keys.
	PlainLimit = 900 << 10
	// PackedLimit is how long a compressed text may be: what the API server takes.
	PackedLimit = 1 << 20
	// UnpackedLimit is how long a compressed text may be after decompression. Decode doesn't read a longer one.
	UnpackedLimit = 16 << 20
)

// Labels of a ConfigMap that is a ledger.
const (
	nameLabel      = "app.kubernetes.io/name"
	nameValue      = "svc-lb-mux"
	componentLabel = "app.kubernetes.io/component"
	componentValue = "mux-state"
	// componentBefore is what the original's first versions wrote; its later ones left it as it was.
	componentBefore = "port-allocation"
)

// Selector selects ledgers, those of the original's first versions included: give it to the cache.
func Selector() labels.Selector {
	selector, err := labels.Parse(nameLabel + "=" + nameValue + "," +
		componentLabel + " in (" + componentValue + "," + componentBefore + ")")
	if err != nil {
		return labels.Nothing() // a constant, and a test parses it
	}
	return selector
}

// Contents are our part of a ConfigMap.
type Contents struct {
	Labels      map[string]string
	Annotations map[string]string
	// Plain is the value of PlainKey, and Packed of PackedKey: one of them is empty, and its key must go.
	Plain  string
	Packed []byte
	// Ledger is what Decode will read.
	Ledger plan.Ledger
}

// Encode returns what a ConfigMap must hold to be the ledger: equal ledgers give equal contents. It fails for a
// ledger that Decode wouldn't read back as it is, but for order, and times, of which it keeps whole seconds.
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
