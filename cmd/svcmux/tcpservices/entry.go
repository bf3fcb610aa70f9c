package tcpservices

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/validation"
)

// Config is a ConfigMap of ingress-nginx, and the protocol of its entries.
type Config struct {
	*corev1.ConfigMap
	Protocol corev1.Protocol
}

// entry is one line of a ConfigMap: NUMBER: NAMESPACE/SERVICE:PORT[:PROXY[:PROXY]].
type entry struct {
	config   string // namespace/name of the ConfigMap
	key      string // the number as it is written
	value    string
	number   int32
	protocol corev1.Protocol
	service  types.NamespacedName
	port     string // number or name of the Service's port
	// decode says that ingress-nginx expects a PROXY header from the load balancer, and encode that it sends one to the
	// pods.
	decode, encode bool
}

// slot is a number on the mux, for messages.
func (e entry) slot() string { return e.key + "/" + string(e.protocol) }

// entriesOf returns the entries of a ConfigMap, sorted by number. bad has the entries that ingress-nginx would skip,
// and why.
func entriesOf(config Config) (good []entry, bad []Left) {
	keys := slices.SortedFunc(maps.Keys(config.Data), func(a, b string) int {
		return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b)) // 6379 comes before 06379
	})
	for _, key := range keys {
		e := entry{
			config: config.Namespace + "/" + config.Name, key: strings.TrimSpace(key),
			value:    strings.TrimSpace(config.Data[key]),
			protocol: config.Protocol,
		}
		if why := e.parse(); why != "" {
			bad = append(bad, Left{e.slot(), e.value, why})
			continue
		}
		good = append(good, e)
	}
	slices.SortStableFunc(good, func(a, b entry) int { return cmp.Compare(a.number, b.number) })
	return good, bad
}

// parse reads key and value as ingress-nginx does, and returns the mistake in them.
func (e *entry) parse() (why string) {
	number, err := strconv.ParseInt(e.key, 10, 32)
	if err != nil || number < validation.MinPort || number > validation.MaxPort {
		return fmt.Sprintf("%q is not a port number from %d to %d", e.key, validation.MinPort, validation.MaxPort)
	}
	e.number = int32(number)
	e.key = strconv.FormatInt(number, 10)
	parts := strings.Split(e.value, ":")
	namespace, name, hasBoth := strings.Cut(parts[0], "/")
	if len(parts) < 2 || !hasBoth || namespace == "" || name == "" || parts[1] == "" {
		return "isn't NAMESPACE/SERVICE:PORT, so ingress-nginx skips it"
	}
	e.service, e.port = types.NamespacedName{Namespace: namespace, Name: name}, parts[1]
	if e.protocol == corev1.ProtocolTCP { // for UDP, ingress-nginx ignores the flags
		e.decode = len(parts) > 2 && strings.EqualFold(parts[2], "PROXY")
		e.encode = len(parts) > 3 && strings.EqualFold(parts[3], "PROXY")
	}
	return ""
}

// portOf returns the Service's port that an entry names, by number or by name.
func (e *entry) portOf(svc *corev1.Service) (corev1.ServicePort, bool) {
	number, err := strconv.Atoi(e.port)
	for _, port := range svc.Spec.Ports {
		named := err != nil && port.Name == e.port || err == nil && int(port.Port) == number
		if named && cmp.Or(port.Protocol, corev1.ProtocolTCP) == e.protocol {
			return port, true
		}
	}
	return corev1.ServicePort{}, false
}
