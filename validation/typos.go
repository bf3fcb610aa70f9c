package validation

import (
	"cmp"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Typos warns of slips that make a Service somebody else's. It is for files before they reach a cluster: there, nobody
// asks admission about a stranger.
func (l Language) Typos(svc *corev1.Service) []Problem {
	if l.prefix == "" {
		return nil
	}
	var found Findings
	l.warnClass(svc, &found)
	l.warnPrefixes(svc, &found)
	l.warnLabels(svc, &found)
	if l.Classify(svc) == Stranger {
		l.warnStrays(svc, &found)
	}
	found.sort()
	return found.Warnings
}

func (l Language) warnClass(svc *corev1.Service, found *Findings) {
	if meant := l.meantClass(svc); meant != "" {
		const part = "spec.loadBalancerClass"
		class := *svc.Spec.LoadBalancerClass
		found.warn(LikelyTypo, part, "", class, part+": "+textPrefix(class, meant))
	}
}

// meantClass returns a class whose prefix has a slip in it as it was most likely meant; "" if there is none.
func (l Language) meantClass(svc *corev1.Service) string {
	if svc.Spec.LoadBalancerClass == nil {
		return ""
	}
	prefix, name, _ := strings.Cut(*svc.Spec.LoadBalancerClass, "/")
	if !l.isNearly(prefix) {
		return ""
	}
	return l.prefix + "/" + cmp.Or(name, "<mux>")
}

func (l Language) warnPrefixes(svc *corev1.Service, found *Findings) {
	slips := keysThat(svc.Annotations, func(key string) bool {
		_, ours := l.ownName(key)
		return !ours && l.meant(key) != ""
	})
	for _, key := range slips {
		found.warn(LikelyTypo, annotationField(key), "", key, textPrefix(key, l.prefix+"/"+l.meant(key)))
	}
}

// warnLabels names labels that should have been annotations. A label beside its annotation is there to be selected by,
// and one that is like none of them is nobody's business.
func (l Language) warnLabels(svc *corev1.Service, found *Findings) {
	misplaced := keysThat(svc.Labels, func(key string) bool {
		_, said := svc.Annotations[l.prefix+"/"+l.meant(key)]
		return l.meant(key) != "" && !said
	})
	for _, key := range misplaced {
		path := field.NewPath("metadata", "labels").Key(key).String()
		found.warn(MisplacedAnnotation, path, "", key, textLabel(key, l.prefix+"/"+l.meant(key)))
	}
}

// meant returns which of the annotations that users set a key most likely stands for, slips in its prefix and its name
// forgiven; "" if none.
func (l Language) meant(key string) string {
	prefix, name, _ := strings.Cut(key, "/")
	if prefix != l.prefix && !l.isNearly(prefix) {
		return ""
	}
	return Nearest(lower(name), settable())
}

// isNearly is true for the prefix with a slip or two in it, or with capitals.
func (l Language) isNearly(prefix string) bool {
	return prefix != l.prefix && Nearest(lower(prefix), []string{l.prefix}) != ""
}
