package forecast_test

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
	"nowake.ai/svc-lb-mux/validation"
)

// A question is a case in testdata: a state of the cluster, and a change.
type question struct {
	Case string `json:"case"`

	// These are the state. The mux has the ports of Channels, and the ports of Leaving, which are channels that were
	// deleted a moment ago. Pending channels exist, and no pass has handled them.
	Mux      *muxText               `json:"mux"`
	Channels map[string]channelText `json:"channels"`
	Pending  map[string]channelText `json:"pending"`
	Leaving  map[string]channelText `json:"leaving"`

	// These are the change. A case has one of them.
	Create  map[string]channelText `json:"create"`
	Update  map[string]channelText `json:"update"`
	Becomes *muxText               `json:"becomes"` // the mux after the change
	Deleted bool                   `json:"deleted"` // the mux is deleted
	Dropped bool                   `json:"dropped"` // the mux's annotation is removed

	Hide bool `json:"hide"`
}

// muxText is a mux: annotations by their short names, and its own ports. The test adds the channels' ports, except
// those in Without.
type muxText struct {
	Annotations map[string]string `json:"annotations"`
	Class       string            `json:"class"`
	Ports       string            `json:"ports"`
	Without     []int32           `json:"without"`
	Deleting    bool              `json:"deleting"`
}

// channelText is a channel: a text such as "http:80 grpc:9090->auto dns:53/UDP->5353", or an object with ports and
// annotations.
type channelText struct {
	Ports       string            `json:"ports"`
	Annotations map[string]string `json:"annotations"`
	Ranges      []string          `json:"ranges"` // source ranges
}

func (c *channelText) UnmarshalJSON(data []byte) error {
	if data[0] == '"' {
		return json.Unmarshal(data, &c.Ports)
	}
	type plain channelText
	return json.Unmarshal(data, (*plain)(c))
}

var portText = regexp.MustCompile(`^([a-z0-9-]+):(\d+)(?:/(TCP|UDP|SCTP))?(?:->(\d+|auto))?$`)

// readPorts returns the ports, and the annotation external-ports.
func readPorts(t testing.TB, text string) (ports []corev1.ServicePort, external string) {
	t.Helper()
	var wishes []string
	for _, field := range strings.Fields(text) {
		parts := portText.FindStringSubmatch(field)
		if parts == nil {
			t.Fatalf("%q isn't a port", field)
		}
		number, _ := strconv.ParseInt(parts[2], 10, 32)
		port := corev1.ServicePort{Name: parts[1], Port: int32(number), Protocol: corev1.ProtocolTCP}
		if parts[3] != "" {
			port.Protocol = corev1.Protocol(parts[3])
		}
		if parts[4] != "" {
			wishes = append(wishes, parts[1]+":"+parts[4])
		}
		ports = append(ports, port)
	}
	return ports, strings.Join(wishes, ",")
}

func serviceOf(key types.NamespacedName, annotations map[string]string, ports []corev1.ServicePort) *corev1.Service {
	svc := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name, Annotations: map[string]string{}},
		Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer, Ports: ports},
	}
	for name, value := range annotations {
		if !strings.Contains(name, "/") {
			name = validation.DefaultPrefix + "/" + name
		}
		svc.Annotations[name] = value
	}
	return svc
}

func (c channelText) observed(t testing.TB, name string) plan.ObservedChannel {
	t.Helper()
	ports, external := readPorts(t, c.Ports)
	svc := serviceOf(keyOf(t, name), c.Annotations, ports)
	class := validation.DefaultPrefix + "/" + muxKey.Name
	svc.Spec.LoadBalancerClass, svc.Spec.LoadBalancerSourceRanges = &class, c.Ranges
	if external != "" {
		svc.Annotations[validation.DefaultPrefix+"/external-ports"] = external
	}
	return plan.ReadChannel(english(t), svc)
}

func (m *muxText) observed(t testing.TB, channelPorts []corev1.ServicePort) *plan.ObservedMux {
	t.Helper()
	ports, _ := readPorts(t, m.Ports)
	svc := serviceOf(muxKey, m.Annotations, append(ports, channelPorts...))
	svc.Annotations[validation.DefaultPrefix+"/multiplexer"] = "true"
	svc.Spec.Ports = slices.DeleteFunc(svc.Spec.Ports, func(p corev1.ServicePort) bool {
		return slices.Contains(m.Without, p.Port)
	})
	if len(svc.Spec.Ports) == 0 {
		svc.Spec.Ports = []corev1.ServicePort{{Name: "placeholder", Port: 101, Protocol: corev1.ProtocolTCP}}
	}
	if m.Class != "" {
		svc.Spec.LoadBalancerClass = &m.Class
	}
	if m.Deleting {
		svc.DeletionTimestamp = &metav1.Time{Time: time.Unix(0, 0)}
	}
	return plan.ReadMux(english(t), svc, false)
}

func channelsOf(t testing.TB, texts ...map[string]channelText) []plan.ObservedChannel {
	t.Helper()
	var channels []plan.ObservedChannel
	for _, all := range texts {
		for _, name := range slices.Sorted(maps.Keys(all)) {
			channels = append(channels, all[name].observed(t, name))
		}
	}
	return channels
}

// portsFor returns the ports that the mux has for channels after a pass.
func (q *question) portsFor(t testing.TB) []corev1.ServicePort {
	t.Helper()
	own, _ := readPorts(t, q.Mux.Ports)
	p := plan.Mux(plan.World{
		Keys: english(t).Keys(), Key: muxKey, Mux: q.Mux.observed(t, nil), Ledger: plan.Reading{Condition: plan.Missing},
		Channels: channelsOf(t, q.Channels, q.Leaving),
	}, plan.Memory{})
	if p.Publish == nil {
		return nil
	}
	return slices.DeleteFunc(p.Publish.Ports, func(port corev1.ServicePort) bool {
		return port.Name == "placeholder" ||
			slices.ContainsFunc(own, func(o corev1.ServicePort) bool { return o.Name == port.Name })
	})
}
