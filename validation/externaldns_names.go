package validation

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// ExternalDNSPrefixes returns the default prefixes of external-dns's annotations: its usual one, and the one that its
// newer releases offer.
func ExternalDNSPrefixes() []string {
	return []string{"external-dns.alpha.kubernetes.io", "external-dns.kubernetes.io"}
}

// ExternalDNSKeys are the annotations of external-dns that the reconciler writes, under one prefix.
type ExternalDNSKeys struct{ Hostname, Proxied string }

// ExternalDNSOnMux returns the annotations that the reconciler writes on a mux, in the order of ExternalDNSPrefixes: an
// external-dns reads one prefix alone, and release 0.22 changed the default.
func ExternalDNSOnMux() [2]ExternalDNSKeys {
	return [...]ExternalDNSKeys{{FormerHostname, FormerCloudflareProxied}, {ExternalDNSHostname, CloudflareProxied}}
}

// The annotations from which external-dns takes a Service's DNS names: for its load balancer, and for its cluster IP.
const (
	directHostname         = "hostname"
	directInternalHostname = "internal-hostname"
)

// DirectName is a DNS name that external-dns takes from a channel itself, not from its mux.
type DirectName struct {
	Key string // the annotation's key
	// Name is in lower case, or in quotes if it isn't a DNS name. An empty name stands for all entries after the first
	// MaxHostnames.
	Name string
}

// WithExternalDNS returns the language for other prefixes of external-dns's annotations.
func (l Language) WithExternalDNS(prefixes []string) (Language, error) {
	l.external = nil
	for _, prefix := range prefixes {
		prefix = strings.TrimSuffix(prefix, "/")
		if !isDNSName(prefix) {
			return Language{}, fmt.Errorf("prefix %s of external-dns is not a DNS name in lower case, such as %s", quote(prefix),
				ExternalDNSPrefixes()[0])
		}
		l.external = append(l.external, prefix+"/"+directHostname, prefix+"/"+directInternalHostname)
	}
	return l, nil
}

// directNames returns the names in the annotations that external-dns reads, sorted. A value is a list, as for
// external-dns. Of a list longer than MaxHostnames it returns the beginning and an empty name, which no mux allows.
func (l Language) directNames(svc *corev1.Service) []DirectName {
	var names []DirectName
	for _, key := range l.external {
		value, set := svc.Annotations[key]
		if !set {
			continue
		}
		count := 0
		for entry := range entries(value) {
			if count++; count > MaxHostnames {
				names = append(names, DirectName{Key: key})
				break
			}
			name := canonicalName(entry)
			if !isWildHostname(name) {
				name = quote(entry)
			}
			names = append(names, DirectName{key, name})
		}
	}
	slices.SortFunc(names, func(a, b DirectName) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Key, b.Key))
	})
	return slices.Compact(names)
}

// Forbids returns the names in a channel's own external-dns annotations that the mux doesn't allow, and text that isn't
// a DNS name, because external-dns may read another name from it. If the mux allows every name, nothing is forbidden.
func (m HostnameMatcher) Forbids(names []DirectName) []DirectName {
	if m.all {
		return nil
	}
	var forbidden []DirectName
	for _, name := range names {
		if !isWildHostname(name.Name) || !m.Allows(name.Name) {
			forbidden = append(forbidden, name)
		}
	}
	return forbidden
}
