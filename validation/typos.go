package validation

import (
	"cmp"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Typos warns of typos that make a Service neither mux nor channel. Admission never sees such a Service: svcmux and the
// console ask for its typos.
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

// meantClass returns the probable class of a Service whose class has a typo in its prefix; else "".
func (l Language) meantClass(svc *corev1.Service) string {
	if svc.Spec.LoadBalancerClass == nil {
		return ""
	}
	prefix, name, _ := strings.Cut(*svc.Spec.LoadBalancerClass, "/")
	if !isNearly(prefix, l.prefix) {
		return ""
	}
	return l.prefix + "/" + cmp.Or(name, "<mux>")
}

func (l Language) warnPrefixes(svc *corev1.Service, found *Findings) {
	typos := keysThat(svc.Annotations, func(key string) bool {
		_, ours := l.ownName(key)
		return !ours && l.meant(key) != ""
	})
	for _, key := range typos {
		found.warn(LikelyTypo, annotationField(key), "", key, textPrefix(key, l.prefix+"/"+l.meant(key)))
	}
}

// warnLabels warns of labels that should have been annotations. It ignores a label beside the annotation of the same
// name: such a label is there for selectors.
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

// meant returns the annotation that a key probably stands for, even with typos in its prefix or name; else "".
func (l Language) meant(key string) string {
	prefix, name, _ := strings.Cut(key, "/")
	if prefix != l.prefix && !isNearly(prefix, l.prefix) {
		return ""
	}
	return Nearest(lower(name), settable())
}

// isNearly says that the text is our prefix with one or two typos, or in capitals.
func isNearly(text, prefix string) bool {
	return text != prefix && Nearest(lower(text), []string{prefix}) != ""
}
