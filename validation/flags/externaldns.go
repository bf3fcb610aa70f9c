package flags

import (
	"fmt"

	"nowake.ai/svc-lb-mux/validation"
)

// ExternalDNSUsage is the help text of the flag --external-dns-prefixes.
const ExternalDNSUsage = "`prefixes` of external-dns's annotations, separated by commas; if empty, its two default " +
	"prefixes (EXTERNAL_DNS_PREFIXES)"

// ExternalDNS checks a list of prefixes of external-dns's annotations.
func ExternalDNS(name, value string) error {
	if _, err := (validation.Language{}).WithExternalDNS(externalDNS(value)); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// Language returns the language for a process's flags.
func Language(prefix, namespace, external string) (validation.Language, error) {
	language, err := validation.New(prefix, namespace)
	if err != nil {
		return language, err
	}
	return language.WithExternalDNS(externalDNS(external))
}

func externalDNS(value string) []string {
	if prefixes := List(value); len(prefixes) > 0 {
		return prefixes
	}
	return validation.ExternalDNSPrefixes()
}
