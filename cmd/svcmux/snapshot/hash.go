package snapshot

import (
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/balancer/lease"
	"nowake.ai/svc-lb-mux/cmd/svcmux/archive"
	"nowake.ai/svc-lb-mux/reconciler/gatewayapi/read"
	"nowake.ai/svc-lb-mux/validation"
)

// saltSize is the size of the salt. The salt isn't kept: with it, a reader could find names by trying.
const saltSize = 32

// hashing replaces names by hashes. A hash is a valid name of an object.
type hashing struct {
	salt      []byte
	language  validation.Language
	kept      map[string]bool   // names of the installation, and usual ones
	hashes    map[string]string // by name
	ledgers   map[types.NamespacedName]string
	listeners map[types.NamespacedName]string // by name among claimants
	served    map[types.NamespacedName]bool   // Gateways that are served here
	user      *regexp.Regexp
	word      *regexp.Regexp
}

// hashNames replaces the names in a snapshot. Names in texts are replaced last, when all names are known.
func hashNames(taken *archive.Archive, language validation.Language, salt []byte) {
	h := &hashing{
		salt, language, map[string]bool{}, map[string]string{}, map[types.NamespacedName]string{},
		map[types.NamespacedName]string{},
		servedGateways(language, taken.Objects),
		regexp.MustCompile(`User "[^"]*"`), regexp.MustCompile(`[A-Za-z0-9._/-]+`),
	}
	for _, name := range [...]string{"", "default", "ingress-nginx", "kube-system", language.DefaultMuxNamespace()} {
		h.kept[name] = true
	}
	for _, object := range taken.Objects {
		h.keep(object)
	}
	h.know(taken.Objects)
	for i, object := range taken.Objects {
		taken.Objects[i] = h.object(object)
	}
	h.header(&taken.Header)
}

// keep notes the names of the installation.
func (h *hashing) keep(object archive.Object) {
	switch object.Kind() {
	case "Deployment":
		h.kept[object.Namespace()], h.kept[object.Name()] = true, true
	case "ConfigMap":
		if object.Name() == "cilium-config" {
			h.kept[object.Name()] = true
		}
	}
}

// know notes the names of objects, and the names that the ledgers get.
func (h *hashing) know(objects []archive.Object) {
	names := map[string]bool{}
	for _, object := range objects {
		names[object.Namespace()] = true
		switch object.Kind() {
		case "Service":
			names[object.Name()] = true
		case "Lease":
			if gateway, is := lease.GatewayOf(object.Name()); is {
				names[gateway] = true
			}
		case gatewayClass, gatewayKind, listenerSet, read.TCPRoute, read.UDPRoute, referenceGrant, "Namespace":
			for _, name := range h.namesIn(object) {
				names[name] = true
			}
		case "EndpointSlice":
			names[object.Name()] = true
			for _, endpoint := range as[discoveryv1.EndpointSlice](object).Endpoints {
				if endpoint.NodeName != nil {
					names[*endpoint.NodeName] = true
				}
				if endpoint.TargetRef != nil {
					names[endpoint.TargetRef.Name] = true
				}
			}
		}
	}
	for rank, name := range slices.Sorted(maps.Keys(names)) {
		if !h.kept[name] {
			h.hashes[name] = fmt.Sprintf("x%04d-%s", rank, h.sum(name))
		}
	}
	for _, object := range objects {
		h.nameListeners(object)
		if svc := as[corev1.Service](object); object.Kind() == "Service" && h.language.Classify(svc).Mux() {
			h.nameLedger(svc)
		}
	}
}

// name returns the hash of a name. Names of objects keep their order, because the plan orders channels by name, and
// begin with a letter.
func (h *hashing) name(name string) string {
	if h.kept[name] {
		return name
	}
	if h.hashes[name] == "" {
		h.hashes[name] = "x" + h.sum(name)
	}
	return h.hashes[name]
}

func (h *hashing) sum(name string) string {
	sum := hmac.New(sha256.New, h.salt)
	sum.Write([]byte(name))
	const size = 4
	return hex.EncodeToString(sum.Sum(nil)[:size])
}

func (h *hashing) key(key types.NamespacedName) types.NamespacedName {
	return types.NamespacedName{Namespace: h.name(key.Namespace), Name: h.name(key.Name)}
}

// text replaces the names within a text. A name that is also a word of our messages is replaced only in NAMESPACE/NAME.
func (h *hashing) text(text string) string {
	text = h.user.ReplaceAllString(text, `User "hidden"`)
	return h.word.ReplaceAllStringFunc(text, func(word string) string {
		namespace, name, both := strings.Cut(strings.TrimRight(word, "."), "/") // a dot is the end of a sentence
		end := word[len(strings.TrimRight(word, ".")):]
		switch {
		case both && (h.hashes[namespace] != "" || h.kept[namespace]):
			if strings.Contains(name, "/") { // a listener or a route
				return h.claimant(types.NamespacedName{Namespace: namespace, Name: name}).String() + end
			}
			return h.known(namespace) + "/" + h.known(name) + end
		case both || slices.Contains([]string{"mux", "channel", "port", "service", "auto", "other", "all", "gateway",
			"listener", "route", "tcp", "udp"}, namespace):
			return word
		}
		return h.known(namespace) + end
	})
}

// known returns the hash of a name that is known, and other words as they are.
func (h *hashing) known(word string) string { return cmp.Or(h.hashes[word], word) }

func (h *hashing) object(object archive.Object) archive.Object {
	switch object.Kind() {
	case "Service":
		svc := as[corev1.Service](object)
		h.service(svc)
		return fieldsOf(svc, object)
	case "EndpointSlice":
		slice := as[discoveryv1.EndpointSlice](object)
		h.slice(slice)
		return fieldsOf(slice, object)
	case "ConfigMap":
		cm := as[corev1.ConfigMap](object)
		h.configMap(cm)
		return fieldsOf(cm, object)
	case "Lease":
		found := as[coordinationv1.Lease](object)
		h.lease(found)
		return fieldsOf(found, object)
	case "Deployment":
		d := as[appsv1.Deployment](object)
		h.deployment(d)
		return fieldsOf(d, object)
	case "DaemonSet":
		set := as[appsv1.DaemonSet](object)
		h.daemonSet(set)
		return pick(fieldsOf(set, object), containers+"image")
	case "ValidatingWebhookConfiguration":
		h.webhooks(object)
	case "Namespace":
		namespace := as[corev1.Namespace](object)
		h.namespaceObject(namespace)
		return fieldsOf(namespace, object)
	case gatewayClass, gatewayKind, listenerSet, read.TCPRoute, read.UDPRoute, referenceGrant:
		return h.gatewayAPI(object)
	case "Node":
		node := as[corev1.Node](object)
		node.Name = h.name(node.Name)
		return fieldsOf(node, object)
	}
	return object
}
