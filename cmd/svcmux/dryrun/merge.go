package dryrun

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
	"nowake.ai/svc-lb-mux/validation"
)

// Merged returns an object after kubectl apply of a manifest. It keeps the annotations and ports that the reconciler
// writes on a mux. old is nil for a new object. created counts the manifests before it: of two new channels, the one
// that is created first is served first.
func (c *Cluster) Merged(old, manifest *corev1.Service, created int) *corev1.Service {
	manifest = manifest.DeepCopy()
	setDefaults(manifest)
	applied := lastApplied(manifest)
	if old == nil {
		manifest.UID = types.UID("dry-run/" + manifest.Namespace + "/" + manifest.Name)
		manifest.CreationTimestamp = metav1.NewTime(c.Now.Add(time.Duration(created) * time.Microsecond))
		manifest.Status = corev1.ServiceStatus{}
		annotate(manifest, corev1.LastAppliedConfigAnnotation, applied)
		return manifest
	}
	last := parseLastApplied(old)
	merged := old.DeepCopy()
	merged.Spec = manifest.Spec
	merged.Spec.IPFamilies = slices.Clone(old.Spec.IPFamilies) // the API server chooses them
	if manifest.Spec.Type == corev1.ServiceTypeLoadBalancer {
		merged.Spec.LoadBalancerClass = cmp.Or(manifest.Spec.LoadBalancerClass, old.Spec.LoadBalancerClass)
	}
	if c.Language.Classify(old).Mux() {
		merged.Spec.Ports = mergedPorts(old.Spec.Ports, manifest.Spec.Ports, last.Spec.Ports)
	}
	for _, name := range removable(last, c.Language.Keys()) {
		annotate(merged, name, "")
	}
	if merged.Annotations == nil {
		merged.Annotations = map[string]string{}
	}
	maps.Copy(merged.Annotations, manifest.Annotations) // an empty value stays: admission refuses some
	annotate(merged, corev1.LastAppliedConfigAnnotation, applied)
	return merged
}

// setDefaults sets defaults of the API server, for the fields that decisions read.
func setDefaults(svc *corev1.Service) {
	svc.Spec.Type = cmp.Or(svc.Spec.Type, corev1.ServiceTypeClusterIP)
	for i := range svc.Spec.Ports {
		svc.Spec.Ports[i].Protocol = cmp.Or(svc.Spec.Ports[i].Protocol, corev1.ProtocolTCP)
	}
}

// lastApplied returns the annotation in which kubectl apply keeps a manifest.
func lastApplied(manifest *corev1.Service) string {
	text, err := json.Marshal(manifest)
	if err != nil {
		return ""
	}
	return string(text)
}

// parseLastApplied returns the manifest that kubectl applied last; an empty one for a Service that kubectl didn't
// apply.
func parseLastApplied(svc *corev1.Service) *corev1.Service {
	last := &corev1.Service{}
	if json.Unmarshal([]byte(svc.Annotations[corev1.LastAppliedConfigAnnotation]), last) != nil {
		return &corev1.Service{}
	}
	setDefaults(last)
	return last
}

// removable are the annotations that go if the manifest lacks them: those of the last manifest. Helm and server-side
// apply leave no last manifest. Then all settings that users write on muxes and channels go.
func removable(last *corev1.Service, keys validation.Keys) []string {
	if last.Name == "" {
		return keys.Settings()
	}
	var names []string
	for name := range last.Annotations {
		names = append(names, name)
	}
	return names
}

// mergedPorts returns the ports of a mux: those of the manifest, and those of channels, which neither the manifest nor
// the last one has.
func mergedPorts(old, manifest, last []corev1.ServicePort) []corev1.ServicePort {
	find := func(ports []corev1.ServicePort, slot plan.Slot) int {
		return slices.IndexFunc(ports, func(port corev1.ServicePort) bool { return plan.SlotOf(&port) == slot })
	}
	merged := slices.Clone(manifest)
	for _, port := range old {
		if i := find(manifest, plan.SlotOf(&port)); i >= 0 {
			merged[i].NodePort = cmp.Or(merged[i].NodePort, port.NodePort)
			continue
		}
		if find(last, plan.SlotOf(&port)) < 0 {
			merged = append(merged, port)
		}
	}
	return merged
}
