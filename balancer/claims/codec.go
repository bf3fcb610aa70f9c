package claims

import (
	"encoding/json"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
)

// Where a ConfigMap holds claims.
const (
	// Key is the key in data.
	Key = "claims.json"
	// NamePrefix is the ConfigMap's name before the pool's name.
	NamePrefix = "svc-lb-mux-pool-"

	schemaVersion = 1
)

// ErrNewer is a text of a newer version, which this version can't change without loss.
var ErrNewer = errors.New("claims of a newer version")

// Name returns the name of a pool's ConfigMap.
func Name(pool string) string { return NamePrefix + pool }

// Encode returns the text for the ConfigMap: equal claims give equal texts. It fails if Decode would refuse the text.
// Decode returns sorted claims, and times without fractions of seconds.
func Encode(c Claims) (string, error) {
	doc := toDocument(&c)
	if _, err := doc.claims(); err != nil {
		return "", fmt.Errorf("pool %s: claims that can't be written: %w", c.Pool, err)
	}
	text, err := json.Marshal(doc)
	if err != nil {
		return "", fmt.Errorf("pool %s: claims that can't be written: %w", c.Pool, err)
	}
	if len(text) > SizeLimit {
		return "", fmt.Errorf("pool %s: the claims of %d muxes take %d bytes, and a ConfigMap has room for %d: make "+
			"another pool for some muxes",
			c.Pool, len(c.Muxes), len(text), SizeLimit)
	}
	return string(text), nil
}

// Decode reads the claims of a pool from its ConfigMap, which it doesn't change. An error names the key, the value and
// the way out. After an error the caller must keep the claims that it has: the ConfigMap tells nothing then.
func Decode(cm *corev1.ConfigMap, pool string) (Claims, error) {
	c, err := decode(cm.Data[Key], pool)
	if err != nil {
		return Claims{}, fmt.Errorf("ConfigMap %s/%s, key %s: %w", cm.Namespace, cm.Name, Key, err)
	}
	return c, nil
}

func decode(text, pool string) (Claims, error) {
	doc, err := parse([]byte(text))
	if errors.Is(err, ErrNewer) {
		return Claims{}, err
	}
	if err == nil && doc.Pool != pool {
		err = fmt.Errorf("pool %q isn't %q", doc.Pool, pool)
	}
	var c Claims
	if err == nil {
		c, err = doc.claims()
	}
	if err != nil {
		return Claims{}, fmt.Errorf("%w: mend the value, or delete the ConfigMap, so that it is rebuilt from the muxes' "+
			"statuses", err)
	}
	return c, nil
}
