package imagine

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/reconciler/plan"
	"nowake.ai/svc-lb-mux/validation"
)

// Merged returns the object as it is once a manifest is applied. Like kubectl apply, it keeps what the manifest's owner never set, such as
// the ports and annotations that the reconciler writes on a mux. old is nil for an object that doesn't exist: it is created now, after
// those that were applied before it, whose number is given.
func (c *Cluster) Merged(old, manifest *corev1.Service, before int) *corev1.Service {
	manifest = manifest.DeepCopy()
	completed(manifest)
	note := noteOf(manifest)
	if old == nil {
		manifest.UID = types.UID("imagined/" + manifest.Namespace + "/" + manifest.Name)
		manifest.CreationTimestamp = metav1.NewTime(c.now.Add(time.Duration(before) * time.Microsecond))
		manifest.Status = corev1.ServiceStatus{}
		annotate(manifest, corev1.LastAppliedConfigAnnotation, note)
		return manifest
	}
	last := lastOf(old)
	merged := old.DeepCopy()
	spec, kept := manifest.Spec, merged.Spec.Ports
	merged.Spec = spec
	if spec.Type == corev1.ServiceTypeLoadBalancer {
		merged.Spec.LoadBalancerClass = cmp.Or(spec.LoadBalancerClass, old.Spec.LoadBalancerClass)
	}
	merged.Spec.IPFamilies = slices.Clone(old.Spec.IPFamilies) // the API server chooses them
	if c.Language.Classify(old).Mux() {
		merged.Spec.Ports = mergedPorts(kept, spec.Ports, last.Spec.Ports)
	}
	for name := range merged.Annotations {
		if _, stays := manifest.Annotations[name]; !stays && c.wasApplied(old, last, name) {
			delete(merged.Annotations, name)
		}
	}
	for name, value := range manifest.Annotations {
		annotate(merged, name, value)
	}
	annotate(merged, corev1.LastAppliedConfigAnnotation, note)
	return merged
}

// completed sets what the API server sets by default, as far as it is read.
func completed(svc *corev1.Service) {
	svc.Spec.Type = cmp.Or(svc.Spec.Type, corev1.ServiceTypeClusterIP)
	for i := range svc.Spec.Ports {
		svc.Spec.Ports[i].Protocol = cmp.Or(svc.Spec.Ports[i].Protocol, corev1.ProtocolTCP)
	}
}

// noteOf is the annotation by which kubectl apply remembers a manifest.
func noteOf(manifest *corev1.Service) string {
	text, err := json.Marshal(manifest)
	if err != nil {
		return ""
	}
	return string(text)
}

// lastOf returns the manifest that was applied last; an empty one if kubectl apply doesn't tell.
func lastOf(svc *corev1.Service) *corev1.Service {
	last := &corev1.Service{}
	if json.Unmarshal([]byte(svc.Annotations[corev1.LastAppliedConfigAnnotation]), last) != nil {
		return &corev1.Service{}
	}
	completed(last)
	return last
}

// wasApplied is true if an annotation comes from the manifest that was applied last. Where no tool tells what it applied, the settings of
// our language count as applied: only people write them.
func (c *Cluster) wasApplied(old, last *corev1.Service, name string) bool {
	if _, applied := last.Annotations[name]; applied {
		return true
	}
	if old.Annotations[corev1.LastAppliedConfigAnnotation] != "" {
		return false
	}
	for i := range old.ManagedFields {
		entry := &old.ManagedFields[i]
		if entry.Operation == metav1.ManagedFieldsOperationApply && entry.FieldsV1 != nil && strings.Contains(string(entry.FieldsV1.GetRawBytes()), `"f:`+name+`"`) {
			return true
		}
	}
	return len(old.ManagedFields) == 0 && slices.Contains(Settings(c.Language.Keys()), name)
}

// Settings are the annotations that users write on muxes and channels.
func Settings(keys validation.Keys) []string {
	return []string{
		keys.Multiplexer, keys.PortRange, keys.ExplicitRange, keys.MaxPorts, keys.MaxPortsPerNamespace, keys.AllowedNamespaces,
		keys.AllowedHostnames, keys.AllowedProtocols, keys.AllocationConfigMap, keys.ReleaseGrace, keys.Placeholder, keys.Provider,
		keys.Disabled, keys.ExternalPorts, keys.ChannelHostname,
	}
}

// mergedPorts returns a mux's ports: those of the manifest, and those that nobody applied, which are channels'.
func mergedPorts(old, manifest, last []corev1.ServicePort) []corev1.ServicePort {
	slot := func(port corev1.ServicePort) plan.Slot {
		return plan.Slot{Number: port.Port, Protocol: cmp.Or(port.Protocol, corev1.ProtocolTCP)}
	}
	drop := map[plan.Slot]bool{}
	for _, port := range last {
		drop[slot(port)] = true
	}
	wanted := map[plan.Slot]corev1.ServicePort{}
	for _, port := range manifest {
		wanted[slot(port)] = port
	}
	var merged []corev1.ServicePort
	for _, port := range old {
		replaced, is := wanted[slot(port)]
		switch {
		case is:
			replaced.NodePort = cmp.Or(replaced.NodePort, port.NodePort)
			merged = append(merged, replaced)
			delete(wanted, slot(port))
		case !drop[slot(port)]:
			merged = append(merged, port)
		}
	}
	for _, key := range slices.SortedFunc(maps.Keys(wanted), func(a, b plan.Slot) int {
		return cmp.Or(cmp.Compare(a.Number, b.Number), cmp.Compare(a.Protocol, b.Protocol))
	}) {
		merged = append(merged, wanted[key])
	}
	return merged
}
