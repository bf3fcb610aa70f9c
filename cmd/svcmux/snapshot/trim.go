package snapshot

import (
	"cmp"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/cmd/svcmux/archive"
	"nowake.ai/svc-lb-mux/cmd/svcmux/look"
	"nowake.ai/svc-lb-mux/cmd/svcmux/tcpservices"
	"nowake.ai/svc-lb-mux/reconciler/gatewayapi/read"
	"nowake.ai/svc-lb-mux/reconciler/numbers/record"
	"nowake.ai/svc-lb-mux/validation"
)

// trimming drops objects and fields that no command reads.
type trimming struct {
	world  *look.World
	parts  map[string]bool // namespaces of the installation
	chosen chosen
}

func trim(taken *archive.Archive, world *look.World) {
	t := &trimming{world, map[string]bool{}, choose(world.Language, taken.Objects)}
	for _, object := range taken.Objects {
		if object.Kind() == "Deployment" {
			t.parts[object.Namespace()] = true
		}
	}
	var kept []archive.Object
	for _, object := range taken.Objects {
		if trimmed := t.object(object); trimmed.Name() != "" {
			kept = append(kept, trimmed)
		}
	}
	taken.Objects = kept
}

// object returns an object without the fields that no command reads; nil if no command reads it.
func (t *trimming) object(object archive.Object) archive.Object {
	switch object.Kind() {
	case "Service":
		return t.service(object)
	case "EndpointSlice":
		return t.slice(object)
	case "ConfigMap":
		return t.configMap(object)
	case "Deployment":
		return deployment(object)
	case "DaemonSet":
		return daemonSet(object)
	case "Node":
		return node(object)
	case "ValidatingWebhookConfiguration":
		if !strings.Contains(strings.Join(webhooksOf(object), " "), "."+t.world.Language.Prefix()) {
			return nil
		}
		return pick(object, "webhooks.name", "webhooks.failurePolicy", "webhooks.namespaceSelector", "webhooks.clientConfig")
	case "Lease":
		return pick(object, "metadata.labels", "metadata.annotations", "spec.holderIdentity", "spec.leaseDurationSeconds",
			"spec.renewTime")
	case "Certificate":
		return pick(object, "status.notBefore", "status.notAfter")
	case "PrometheusRule":
		return pick(object)
	case gatewayClass, gatewayKind, listenerSet, read.TCPRoute, read.UDPRoute, referenceGrant:
		return t.gatewayAPI(object)
	case "Namespace":
		return t.namespace(object)
	}
	return nil
}

// service drops managedFields and the last applied manifest where they have no meaning. A mux's managedFields tell who
// declares its placeholder port.
func (t *trimming) service(object archive.Object) archive.Object {
	svc := as[corev1.Service](object)
	kind := t.world.Language.Classify(svc)
	if !kind.Mux() {
		svc.ManagedFields = nil
	}
	if kind == validation.Stranger {
		delete(svc.Annotations, corev1.LastAppliedConfigAnnotation)
	}
	return fieldsOf(svc, object)
}

// slice keeps EndpointSlices of channels, of muxes and of the installation.
func (t *trimming) slice(object archive.Object) archive.Object {
	slice := as[discoveryv1.EndpointSlice](object)
	if t.world.Slices[types.NamespacedName{Namespace: slice.Namespace, Name: slice.Name}] == nil &&
		!t.parts[slice.Namespace] {
		return nil
	}
	slice.ManagedFields = nil
	delete(slice.Annotations, corev1.LastAppliedConfigAnnotation)
	return fieldsOf(slice, object)
}

// configMap keeps the contents of ledgers and of ingress-nginx's TCP and UDP services, and Cilium's
// kube-proxy-replacement. Other values in such a ConfigMap become empty: a mux may name any ConfigMap as its ledger. It
// returns nil for other ConfigMaps.
func (t *trimming) configMap(object archive.Object) archive.Object {
	cm := as[corev1.ConfigMap](object)
	_, isLedger := t.world.ConfigMaps[types.NamespacedName{Namespace: cm.Namespace, Name: cm.Name}]
	isStreams := tcpservices.ProtocolOf(cm) != ""
	cm.ManagedFields = nil
	delete(cm.Annotations, corev1.LastAppliedConfigAnnotation)
	for key := range cm.Data {
		if !isStreams && key != record.PlainKey && key != "kube-proxy-replacement" {
			cm.Data[key] = ""
		}
	}
	for key := range cm.BinaryData {
		if key != record.PackedKey {
			cm.BinaryData[key] = nil
		}
	}
	if !isLedger && !isStreams && cm.Name != "cilium-config" {
		return nil
	}
	return fieldsOf(cm, object)
}

// node keeps the release of the kubelet and the provider.
func node(object archive.Object) archive.Object {
	n := as[corev1.Node](pick(object, "spec.providerID", "status.nodeInfo.kubeletVersion"))
	if provider, _, is := strings.Cut(n.Spec.ProviderID, "://"); is {
		n.Spec.ProviderID = provider + "://"
	}
	return fieldsOf(n, object)
}

func webhooksOf(object archive.Object) []string {
	var names []string
	hooks, _ := object["webhooks"].([]any)
	for _, hook := range hooks {
		fields, _ := hook.(map[string]any)
		name, _ := fields["name"].(string)
		names = append(names, cmp.Or(name, "-"))
	}
	return names
}
