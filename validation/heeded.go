package validation

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// Heeded returns the annotations of a Service that anything is decided or said by, for whoever keeps Services: all that is
// read in the same words is read the same of them. Others can be as large as their owner likes. Of those that are merely
// listed, as many are kept as are ever listed at once, and no values, unless they are quoted.
func (l Language) Heeded(annotations map[string]string) map[string]string {
	heeded := map[string]string{}
	var listed [heeds][]string
	for key, value := range annotations {
		switch how := l.heeds(key); how {
		case heedNot:
		case heedValue:
			heeded[key] = value
		default:
			listed[how] = append(listed[how], key)
		}
	}
	for how, keys := range listed {
		slices.Sort(keys)
		for _, key := range keys[:min(len(keys), maxProblems)] {
			heeded[key] = ""
			if heed(how) == heedOthers {
				heeded[key] = annotations[key]
			}
		}
	}
	return heeded
}

// heed says what of an annotation counts: nothing, all of it, or that it is there, for one reason or another.
type heed uint8

const (
	heedNot heed = iota
	heedValue
	heedUnknown  // under our prefix, and nothing that we know
	heedSlip     // nearly one of ours
	heedLeftover // the original's framework's
	heedSign     // tells the provider
	heedOthers   // a provider's, who doesn't read it on a channel
	heeds
)

func (l Language) heeds(key string) heed {
	name, ours := l.ownName(key)
	switch {
	case ours && placeOf(name) != 0:
		return heedValue
	case ours:
		return heedUnknown
	case slices.Contains(l.external, key):
		return heedValue
	case key == ExternalDNSHostname, key == CloudflareProxied, key == corev1.AnnotationLoadBalancerSourceRangesKey:
		return heedValue
	case strings.HasPrefix(key, kopfPrefix):
		return heedLeftover
	}
	for _, provider := range providers() {
		switch {
		case key == provider.typeKey:
			return heedValue
		case provider.begins(key):
			return heedSign
		}
	}
	switch {
	case isProviderKey(key):
		return heedOthers
	case l.meant(key) != "":
		return heedSlip
	}
	return heedNot
}
