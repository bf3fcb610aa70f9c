package validation

import (
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// gatewayPrefix stands before the prefix in the class of a mux on gateways.
const gatewayPrefix = "gateway."

// MaxGateways is the largest value of the gateways annotation: a seat has no more gateways.
const MaxGateways = 254

// GatewayPool parses the class of a mux on gateways, gateway.<prefix>/<pool>. It returns false for any other class. The
// pool is empty if the class is malformed.
func (l Language) GatewayPool(class string) (string, bool) {
	pool, is := strings.CutPrefix(class, gatewayPrefix+l.prefix+"/")
	if l.prefix == "" || !is {
		return "", false
	}
	if !IsLabel(pool) {
		return "", true
	}
	return pool, true
}

// FormatGatewayClass returns the class of muxes on a pool of gateways.
func (l Language) FormatGatewayClass(pool string) string {
	return gatewayPrefix + l.prefix + "/" + pool
}

// gatewayProvider is the provider of muxes on gateways. It isn't in the table of providers: only the class may
// select it, not the provider annotation, and not the provider that a ledger recorded.
func gatewayProvider() Provider {
	return Provider{Name: "gateways", Key: "gateway", Protocols: TCP | UDP | SCTP, CanMix: true}
}

// GatewaySettings are the settings of a mux on gateways.
type GatewaySettings struct {
	// Wanted are the addresses that the mux's owner asks for, at most one of a family, sorted.
	Wanted []netip.Addr
	// MinGateways is how many gateways must be able to carry the mux before its address is shown.
	MinGateways int
}

// ParseGateways parses the settings of a mux on gateways. A setting with a problem has its default. Admission and the
// gateways' controller both call it, so that they find the same problems.
func (l Language) ParseGateways(svc *corev1.Service) (GatewaySettings, Findings) {
	var found Findings
	s := settings{svc: svc, keys: &l.keys, found: &found}
	parsed := GatewaySettings{MinGateways: 1}
	if n, set := s.get(l.keys.Address, InvalidAddress); set {
		if wanted := parseWanted(n, svc.Spec.IPFamilies); n.clean() {
			parsed.Wanted = wanted
		}
	}
	if n, set := s.get(l.keys.Gateways, InvalidGateways); set {
		if count, ok := number(n.value, MaxGateways); ok {
			parsed.MinGateways = int(count)
		} else {
			n.problem("", n.value, textGateways(n.value))
		}
	}
	found.sort()
	return parsed, found
}

// checkGateways checks the settings that are for muxes on gateways. On any other mux, such a setting has no effect and
// gets a warning, whatever its value.
func (l Language) checkGateways(svc *corev1.Service, mux *Mux, found *Findings) {
	if _, isOnGateways := l.GatewayPool(mux.Class); isOnGateways {
		_, more := l.ParseGateways(svc)
		found.Gateways = more.Problems
		return
	}
	if l.Classify(svc) == Both {
		return // it is refused in any case, so don't guess which kind is meant
	}
	for _, key := range []string{l.keys.Address, l.keys.Gateways} {
		if value, set := svc.Annotations[key]; set {
			found.warn(MisplacedAnnotation, annotationField(key), "", value,
				textNotOnGateways(shortName(key), l.FormatGatewayClass("<pool>")))
		}
	}
}

// parseWanted parses "192.0.2.1,2001:db8::1".
func parseWanted(n *note, families []corev1.IPFamily) []netip.Addr {
	var wanted []netip.Addr
	for entry := range entries(n.value) {
		if n.full() {
			break
		}
		a, err := netip.ParseAddr(entry)
		family := corev1.IPv6Protocol
		if a.Is4() {
			family = corev1.IPv4Protocol
		}
		switch {
		case err != nil || a.Zone() != "" || a.Is4In6():
			n.problem("", entry, textAddress(entry))
		case slices.ContainsFunc(wanted, func(b netip.Addr) bool { return a.Is4() == b.Is4() }):
			n.problem("", entry, textTwoAddresses(entry, string(family)))
		case len(families) > 0 && !slices.Contains(families, family):
			n.problem("", entry, textOtherFamily(entry, string(family)))
		default:
			wanted = append(wanted, a)
		}
	}
	slices.SortFunc(wanted, netip.Addr.Compare)
	return wanted
}
