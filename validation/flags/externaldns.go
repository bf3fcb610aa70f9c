package flags

import (
	"fmt"
	"strings"

	"nowake.ai/svc-lb-mux/validation"
)

// ExternalDNSUsage describes the flag.
const ExternalDNSUsage = "`prefixes` of external-dns's annotations, separated by commas; its usual two if empty (EXTERNAL_DNS_PREFIXES)"

// ExternalDNS judges a list of prefixes of external-dns's annotations.
func ExternalDNS(name, value string) error {
	if _, err := (validation.Language{}).WithExternalDNS(externalDNS(value)); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// Language returns the language that a process is told to read.
func Language(prefix, namespace, external string) (validation.Language, error) {
	language, err := validation.New(prefix, namespace)
	if err != nil {
		return language, err
	}
	return language.WithExternalDNS(externalDNS(external))
}

func externalDNS(value string) []string {
	var prefixes []string
	for prefix := range strings.SplitSeq(value, ",") {
		if prefix = strings.TrimSpace(prefix); prefix != "" {
			prefixes = append(prefixes, prefix)
		}
	}
	if len(prefixes) == 0 {
		return validation.ExternalDNSPrefixes()
	}
	return prefixes
}
