package record

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	kube "k8s.io/apimachinery/pkg/util/validation"

	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
	"nowake.ai/svc-lb-mux/validation"
)

// ledger returns the document as the ledger of a mux, and fails at its first contradiction.
func (d *document) ledger(mux types.NamespacedName) (plan.Ledger, error) {
	ledger := plan.Ledger{Mux: mux, MuxUID: types.UID(d.MuxUID), Provider: d.Provider, Generation: d.Generation}
	if d.SchemaVersion < 0 || d.Generation < 0 {
		return ledger, fmt.Errorf("schemaVersion %d or generation %d is negative", d.SchemaVersion, d.Generation)
	}
	var err error
	if ledger.HeldUntil, err = parseTime("heldUntil", d.HeldUntil); err != nil {
		return ledger, err
	}
	// The list allocations counts only without portClaims: the original's first versions wrote no other list.
	list, from := d.PortClaims, "portClaims"
	if list == nil {
		list, from = d.Allocations, "allocations"
	}
	if n := len(list) + len(d.Released); n > 0 {
		ledger.Claims = make([]plan.Claim, 0, n)
	}
	if err := cmp.Or(addClaims(&ledger, list, from), addClaims(&ledger, d.Released, "released")); err != nil {
		return ledger, err
	}
	for _, holder := range d.Hostnames {
		ledger.Hostnames = append(ledger.Hostnames, plan.HostnameHolder(holder))
	}
	ledger.Sort()
	return ledger, contradiction(&ledger)
}

// addClaims reads a list of claims, whatever their states.
func addClaims(to *plan.Ledger, list []entry, name string) error {
	for i := range list {
		claim, err := list[i].claim()
		if err != nil {
			return fmt.Errorf("%s[%d], port %s of %s/%s: %w", name, i,
				short(list[i].PortName), short(list[i].Namespace), short(list[i].Service), err)
		}
		to.Claims = append(to.Claims, claim)
	}
	return nil
}

// claim reads an entry. Fields that the original may leave out get the original's defaults.
func (e *entry) claim() (plan.Claim, error) {
	number := cmp.Or(e.MuxPort, e.Port)
	since, errSince := parseTime("since", e.Since)
	until, errUntil := parseTime("until", e.Until)
	protocol, errProtocol := parseProtocol(e.Protocol)
	source, errSource := parseSource(e.Source)
	state, errState := parseState(e.State)
	claim := plan.Claim{
		Owner: plan.PortID{
			Channel:  types.NamespacedName{Namespace: e.Namespace, Name: e.Service},
			Name:     e.PortName,
			Protocol: protocol,
		},
		Port:    int32(e.ChannelPort),
		Public:  int32(number),
		Last:    int32(e.LastPort),
		Source:  source,
		MuxName: e.Name,
		Since:   since,
		State:   state,
		Until:   until,
	}
	return claim, cmp.Or(e.badName(), e.badNumber(number), errProtocol, errSource, errState, errSince, errUntil)
}

func (e *entry) badName() error {
	for _, field := range [...]struct{ name, value string }{
		{"namespace", e.Namespace}, {"service", e.Service}, {"portName", e.PortName}, {"name", e.Name},
	} {
		isOther := field.name == "name" && field.value == "" || field.name == "service" && isOfGatewayAPI(field.value)
		if !validation.IsLabel(field.value) && !isOther {
			return fmt.Errorf("%s %s can't be a name in Kubernetes", field.name, short(field.value))
		}
	}
	return nil
}

// isOfGatewayAPI is true for the name of an owner that isn't a Service: a route such as "tcproute/broker-0", or a
// listener such as "listenerset/brokers/tcp".
func isOfGatewayAPI(name string) bool {
	parts := strings.Split(name, "/")
	return len(parts) >= 2 && len(parts) <= 3 && validation.IsLabel(parts[0]) &&
		!slices.ContainsFunc(parts[1:], func(part string) bool { return len(kube.IsDNS1123Subdomain(part)) > 0 })
}

func (e *entry) badNumber(number int64) error {
	switch {
	case number < validation.MinPort || number > validation.MaxPort:
		return fmt.Errorf("port %d isn't from %d to %d", number, validation.MinPort, validation.MaxPort)
	case e.Port != 0 && e.Port != number:
		return fmt.Errorf("muxPort %d and port %d are the same number in every ledger", e.MuxPort, e.Port)
	case e.LastPort != 0 && (e.LastPort <= number || e.LastPort > validation.MaxPort):
		return fmt.Errorf("lastPort %d isn't from %d to %d", e.LastPort, number+1, validation.MaxPort)
	case e.ChannelPort < 0 || e.ChannelPort > validation.MaxPort:
		return fmt.Errorf("channelPort %d isn't from %d to %d", e.ChannelPort, validation.MinPort, validation.MaxPort)
	}
	return nil
}

func parseProtocol(protocol string) (corev1.Protocol, error) {
	switch p := corev1.Protocol(cmp.Or(protocol, "TCP")); p {
	case corev1.ProtocolTCP, corev1.ProtocolUDP, corev1.ProtocolSCTP:
		return p, nil
	}
	return "", fmt.Errorf("protocol %s is none of TCP, UDP and SCTP", short(protocol))
}

// parseSource reads an empty source as auto, as the original does.
func parseSource(source string) (plan.Source, error) {
	for _, s := range [...]plan.Source{plan.Auto, plan.Static} {
		if cmp.Or(source, plan.Auto.String()) == s.String() {
			return s, nil
		}
	}
	return plan.Static, fmt.Errorf("source %s is neither static nor auto", short(source))
}

func parseState(state string) (plan.State, error) {
	for _, s := range [...]plan.State{plan.Held, plan.Releasing, plan.InGrace} {
		if state == formatState(s) {
			return s, nil
		}
	}
	return plan.Held, fmt.Errorf("state %s is neither %s nor %s", short(state), stateReleasing, stateInGrace)
}

// parseTime reads a time. It refuses years that couldn't be written again.
func parseTime(field, value string) (time.Time, error) {
	if value == "" {
		return time.Time{}, nil
	}
	t, err := time.Parse(time.RFC3339, value)
	t = t.UTC().Truncate(time.Second)
	if err != nil || t.Year() < 1 || t.Year() > 9999 {
		return time.Time{}, fmt.Errorf("%s %s isn't a time such as 2026-01-02T03:04:05Z", field, short(value))
	}
	return t, nil
}
