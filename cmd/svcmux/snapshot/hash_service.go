package snapshot

import (
	"path"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"nowake.ai/svc-lb-mux/validation"
)

// service hashes the names in a Service.
func (h *hashing) service(svc *corev1.Service) {
	kind := h.language.Classify(svc)
	if kind.Channel() {
		mux, _ := h.language.ParseClass(*svc.Spec.LoadBalancerClass)
		class := h.language.Prefix() + "/" + h.name(mux.Name) + "." + h.name(mux.Namespace)
		svc.Spec.LoadBalancerClass = &class
	}
	svc.Annotations = h.annotations(svc.Annotations, svc.Namespace, kind == validation.Stranger)
	svc.Namespace, svc.Name, svc.GenerateName = h.name(svc.Namespace), h.name(svc.Name), ""
	for _, values := range [...]map[string]string{svc.Labels, svc.Spec.Selector} {
		for key, value := range values {
			values[key] = h.value(value)
		}
	}
	svc.Spec.ExternalName = h.name(svc.Spec.ExternalName)
	for i := range svc.OwnerReferences {
		svc.OwnerReferences[i].Name = h.name(svc.OwnerReferences[i].Name)
	}
	for i := range svc.Status.Conditions {
		svc.Status.Conditions[i].Message = h.text(svc.Status.Conditions[i].Message)
	}
	for i := range svc.Status.LoadBalancer.Ingress {
		if ingress := &svc.Status.LoadBalancer.Ingress[i]; ingress.Hostname != "" {
			ingress.Hostname = h.name(ingress.Hostname) + ".example"
		}
	}
}

// annotations hashes the values of annotations of an object in a namespace. Those with DNS names go. On a stranger, our
// annotations have no meaning.
func (h *hashing) annotations(all map[string]string, namespace string, isStranger bool) map[string]string {
	keys := h.language.Keys()
	hashed := map[string]string{}
	for key, value := range all {
		if _, name, _ := strings.Cut(key, "/"); name == "hostname" || name == "internal-hostname" {
			continue // an installation's own prefix of external-dns is a DNS name, too
		}
		switch key {
		case corev1.LastAppliedConfigAnnotation, keys.AllowedHostnames, keys.ChannelHostname, keys.AggregatedExternalDNS:
			continue
		case keys.Channels, keys.Topology, keys.Summary:
			value = h.text(value)
		case keys.CarriedBy:
			value = h.gateways(value)
		case keys.AllowedNamespaces:
			value = h.namespaces(value)
		case keys.AllocationConfigMap, keys.Ledger:
			value = h.ledgerOf(namespace, value)
		case keys.Gateway:
			of, name, _ := strings.Cut(value, "/")
			value = h.name(of) + "/" + h.name(name)
		default:
			if !strings.HasPrefix(key, h.language.Prefix()+"/") || isStranger {
				value = h.value(value)
			}
		}
		hashed[key] = value
	}
	return hashed
}

// value hashes the value of a label or of a foreign annotation. Values that are words of providers stay.
func (h *hashing) value(value string) string {
	if _, err := strconv.ParseFloat(value, 64); err == nil || slices.Contains(usualValues(), strings.ToLower(value)) {
		return value
	}
	return h.name(value)
}

// usualValues are values that tell nothing about their owner.
func usualValues() []string {
	return []string{"", "true", "false", "enabled", "disabled", "internal", "external", "internet-facing", "nlb", "nlb-ip",
		"instance", "ip", "tcp", "udp", "http", "https"}
}

// namespaces hashes the names in a list of namespaces. A pattern becomes the known namespaces that it matches.
func (h *hashing) namespaces(list string) string {
	var hashed []string
	for item := range strings.SplitSeq(list, ",") {
		item = strings.TrimSpace(item)
		switch {
		case item == "*" || item == "Same":
			hashed = append(hashed, item)
		case strings.ContainsAny(item, "*?["):
			for name, hash := range h.hashes {
				if matches, err := path.Match(item, name); err == nil && matches {
					hashed = append(hashed, hash)
				}
			}
		default:
			hashed = append(hashed, h.name(item))
		}
	}
	slices.Sort(hashed)
	if len(hashed) == 0 {
		return h.name(list)
	}
	return strings.Join(hashed, ",")
}
