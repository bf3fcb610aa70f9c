package record

import (
	"errors"
	"fmt"
	"strconv"

	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/validation"
)

// These are the messages about ledgers, each with the way out. Decode puts the name of the ConfigMap in front.

func textForeign(annotated string, mux types.NamespacedName, keys validation.Keys) string {
	if annotated == "" {
		return fmt.Sprintf("it isn't known to be the ledger of mux %s, and is left alone: it has no annotation %s. If it "+
			"is, annotate it with %[2]s=%[1]s; if not, give the mux another name for its ledger with annotation %[3]s",
			mux, keys.Mux, keys.AllocationConfigMap)
	}
	return fmt.Sprintf("it is the ledger of mux %s by its annotation %s. Give mux %s another name for its ledger with "+
		"annotation %s; or, if the other mux is gone for good, delete the ConfigMap",
		short(annotated), keys.Mux, mux, keys.AllocationConfigMap)
}

func textForeignText(key string, named, mux types.NamespacedName, nameKey string) string {
	return fmt.Sprintf("its annotation names mux %[3]s, and its %[1]s mux %[2]s. Mend the one that is wrong, or give mux "+
		"%[3]s another name for its ledger with annotation %[4]s, or delete the ConfigMap so that it is rebuilt",
		key, short(named.String()), mux, nameKey)
}

func textNewer(key string, version int64) string {
	return fmt.Sprintf("%s has schemaVersion %d, and this version of svc-lb-mux knows up to %d. Upgrade svc-lb-mux "+
		"again, or delete the ConfigMap so that it is rebuilt", key, version, versionWithRanges)
}

func textUnreadable(key string, err error) string {
	return fmt.Sprintf("%s: %v. Mend it, or delete the ConfigMap so that it is rebuilt", key, err)
}

func textUnpack(err error) string {
	return fmt.Sprintf("%s in binaryData: %v. Delete the ConfigMap so that it is rebuilt", PackedKey, err)
}

func textEdited(generation int64) string {
	return fmt.Sprintf("somebody else wrote it at generation %d", generation)
}

func textLeftOver(gone string) string {
	return fmt.Sprintf("the mux names ConfigMap %s as its ledger, which doesn't exist, and this one may be older",
		short(gone))
}

func errTooLarge(mux types.NamespacedName, claims, size int) error {
	return unwritable(mux, fmt.Errorf("its %d claims take %d bytes when compressed, and a ConfigMap "+
		"holds %d. Move some of its channels to another mux", claims, size, PackedLimit))
}

// ErrUnwritable is the error for a ledger that no ConfigMap could hold, or that nobody could read again. To try once
// more is no use.
var ErrUnwritable = errors.New("can't be written")

func unwritable(mux types.NamespacedName, why error) error {
	return fmt.Errorf("the ledger of mux %s %w: %w", mux, ErrUnwritable, why)
}

// short quotes a text from others, and cuts a long one.
func short(value string) string {
	const limit = 63
	if len(value) > limit {
		value = value[:limit] + "…"
	}
	return strconv.Quote(value)
}
