package plan

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
)

// Lengths of port names on a mux: the original's, which a tenant can match on purpose in seconds, and ours.
const (
	legacyDigits = 7
	nameDigits   = 20
)

// legacyName is what the original names a channel's port.
func legacyName(id PortID) string { return digits(id, "", legacyDigits) }

// derivedName is what we name a channel's port, unless that name is taken.
func derivedName(id PortID) string { return digits(id, "", nameDigits) }

// freeName is a name for a channel's port that nobody has.
func freeName(id PortID, taken func(string) bool) string {
	name := derivedName(id)
	for salt := 1; taken(name); salt++ {
		name = digits(id, "#"+strconv.Itoa(salt), nameDigits)
	}
	return name
}

func digits(id PortID, salt string, length int) string {
	sum := sha256.Sum256([]byte(id.Channel.Namespace + "/" + id.Channel.Name + "/" + id.Name + salt))
	return hex.EncodeToString(sum[:nameDigits/2])[:length]
}

// looksOurs is true if a port's name could be one of ours.
func looksOurs(name string) bool {
	if len(name) != legacyDigits && len(name) != nameDigits {
		return false
	}
	for _, r := range name {
		if (r < '0' || r > '9') && (r < 'a' || r > 'f') {
			return false
		}
	}
	return true
}
