package validation

import (
	corev1 "k8s.io/api/core/v1"
)

// warnStrays warns of annotations under our prefix on a Service that is neither mux nor channel: they have no effect
// there. If a typo in the class or in "multiplexer" is the cause, only the typo is reported: after its correction, the
// other annotations have their effect.
func (l Language) warnStrays(svc *corev1.Service, found *Findings) {
	likely := l.likely(svc)
	strays := keysThat(svc.Annotations, func(key string) bool {
		name, ours := l.ownName(key)
		return ours && (l.names[name].at == 0 || l.names[name].isSettable && l.names[name].at&likely == 0)
	})
	for _, key := range strays {
		name, _ := l.ownName(key)
		if l.names[name].at == 0 {
			found.warn(UnknownAnnotation, annotationField(key), "", svc.Annotations[key], textUnknownAnnotation(name))
			continue
		}
		found.warn(MisplacedAnnotation, annotationField(key), "", svc.Annotations[key],
			textStray(name, l.prefix, l.names[name].at))
	}
}

// likely returns the kinds that a stranger was probably meant to be. A Service with multiplexer "false" counts as a mux
// here, so a mux that is switched off may keep its settings without a warning.
func (l Language) likely(svc *corev1.Service) place {
	var likely place
	for _, keys := range []map[string]string{svc.Annotations, svc.Labels} {
		for key := range keys {
			if l.meant(key) == multiplexer {
				likely |= onMux
			}
		}
	}
	if l.meantClass(svc) != "" {
		likely |= onChannel
	}
	return likely
}
