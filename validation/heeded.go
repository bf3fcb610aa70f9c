package validation

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// Heeded returns the annotations that decisions and messages depend on, for caches of Services. Parsing a Service with
// only these gives the same result. All other annotations can be dropped, however large they are. Of annotations that
// only cause warnings, Heeded keeps as many keys as there can be warnings, and values only if the warnings quote them.
func (l Language) Heeded(annotations map[string]string) map[string]string {
	heeded := map[string]string{}
	var listed [useCount][]string
	for key, value := range annotations {
		switch usage := l.useOf(key); usage {
		case useNone:
		case useValue:
			heeded[key] = value
		default:
			listed[usage] = append(listed[usage], key)
		}
	}
	for usage, keys := range listed {
		slices.Sort(keys)
		for _, key := range keys[:min(len(keys), maxProblems)] {
			heeded[key] = ""
			if use(usage) == useProviderOther {
				heeded[key] = annotations[key]
			}
		}
	}
	return heeded
}

// use says which part of an annotation is needed: nothing, its value, or only its key, and why.
type use uint8

const (
	useNone use = iota
	useValue
	useUnknown       // under our prefix, but unknown
	useTypo          // probably a typo of one of ours
	useLeftover      // of the original's framework
	useProviderSign  // tells the mux's provider
	useProviderOther // a provider's annotation, without effect on a channel
	useCount
)

func (l Language) useOf(key string) use {
	name, ours := l.ownName(key)
	switch {
	case ours && l.names[name].at != 0:
		return useValue
	case ours:
		return useUnknown
	case slices.Contains(l.external, key):
		return useValue
	case isExternalDNSKey(key), key == corev1.AnnotationLoadBalancerSourceRangesKey:
		return useValue
	case strings.HasPrefix(key, kopfPrefix):
		return useLeftover
	}
	for _, provider := range providers() {
		switch {
		case key == provider.typeKey:
			return useValue
		case provider.hasKey(key):
			return useProviderSign
		}
	}
	switch {
	case isProviderKey(key):
		return useProviderOther
	case l.meant(key) != "":
		return useTypo
	}
	return useNone
}
