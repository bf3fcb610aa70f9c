package plan

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"
)

// Lengths of port names on a mux. A tenant can find a collision of the original's 7 digits in seconds.
const (
	legacyDigits = 7
	nameDigits   = 20
)

// legacyName is the original's name for a channel's port.
func legacyName(id PortID) string { return digits(id, "", legacyDigits) }

// derivedName is our name for a channel's port, unless it is taken.
func derivedName(id PortID) string { return digits(id, "", nameDigits) }

// freeName returns a name for a channel's port that isn't taken.
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

// LooksOurs is true if a port's name has the form of a channel port's name.
func LooksOurs(name string) bool {
	return (len(name) == legacyDigits || len(name) == nameDigits) && strings.TrimLeft(name, "0123456789abcdef") == ""
}
