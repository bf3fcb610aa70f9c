package validation

import (
	"time"

	corev1 "k8s.io/api/core/v1"
)

// settings parses the annotations that the mux's owner may set.
type settings struct {
	svc   *corev1.Service
	keys  *Keys
	found *Findings
	// poolOf returns the pool that a class names.
	poolOf func(class string) (string, bool)
}

// muxSettings fills in every setting of a mux, or its default.
func (l Language) muxSettings(svc *corev1.Service, mux *Mux, found *Findings) {
	s := settings{svc: svc, keys: &l.keys, found: found, poolOf: l.GatewayPool}
	s.provider(mux)
	s.ranges(mux)
	s.caps(mux)
	s.allowed(mux)
	s.bookkeeping(mux)
}

// get returns a note for a setting, and whether the setting has a value. An empty value is a mistake, not the default.
func (s settings) get(key string, reason Reason) (*note, bool) {
	value, set := s.svc.Annotations[key]
	if !set {
		return nil, false
	}
	n := &note{to: s.found, reason: reason, key: key, name: shortName(key), value: trim(value)}
	if isEmptyList(n.value) {
		n.problem("", n.value, textEmpty())
		return nil, false
	}
	return n, true
}

func (s settings) provider(mux *Mux) {
	named := ""
	if n, set := s.get(s.keys.Provider, InvalidProvider); set {
		named = parseProvider(n)
	}
	mux.Provider, mux.ProviderNamed = detectProvider(mux.Class, named, s.svc.Annotations)
	if pool, is := s.poolOf(mux.Class); is {
		mux.Pool, mux.Provider, mux.ProviderNamed = pool, gatewayProvider(), true
	}
}

func (s settings) ranges(mux *Mux) {
	if n, set := s.get(s.keys.PortRange, InvalidPortRange); set {
		n.checkLength(textTooManyRanges)
		mux.Auto = parsePortRanges(n)
	}
	mux.Explicit = AllPorts()
	if n, set := s.get(s.keys.ExplicitRange, InvalidExplicitRange); set {
		n.checkLength(textTooManyRanges)
		mux.Explicit = parsePortRanges(n)
	}
}

func (s settings) caps(mux *Mux) {
	stated := 0
	if n, set := s.get(s.keys.MaxPorts, InvalidMaxPorts); set {
		stated = parseCap(n)
	}
	mux.Cap = capOf(mux.Provider, stated, s.keys.MaxPorts, s.found)
	if n, set := s.get(s.keys.MaxPortsPerNamespace, InvalidMaxPortsPerNamespace); set {
		mux.CapPerNamespace = parseCap(n)
	}
}

func (s settings) allowed(mux *Mux) {
	mux.Namespaces = AllNamespaces()
	if n, set := s.get(s.keys.AllowedNamespaces, InvalidAllowedNamespaces); set {
		n.checkLength(textTooManyNamespaces)
		mux.Namespaces = parseNamespaces(s.svc.Namespace, n)
	}
	mux.Hostnames = AllHostnames()
	if n, set := s.get(s.keys.AllowedHostnames, InvalidAllowedHostnames); set {
		n.checkLength(textTooManyPatterns)
		mux.Hostnames = parseHostnamePatterns(n)
	}
	mux.Protocols = mux.Provider.protocols()
	if n, set := s.get(s.keys.AllowedProtocols, InvalidAllowedProtocols); set {
		mux.Protocols, mux.ProtocolsStated = ProtocolPolicy{Allowed: parseProtocols(n)}, true
	}
}

// bookkeeping parses the settings of the ledger and the placeholder, and the reconciler's stamps on the mux.
func (s settings) bookkeeping(mux *Mux) {
	mux.Ledger = ledgerName(s.svc.Name)
	if n, set := s.get(s.keys.AllocationConfigMap, InvalidAllocationConfigMap); set {
		mux.Ledger = parseConfigMapName(n)
	}
	if named := s.svc.Annotations[s.keys.Ledger]; isDNSName(named) { // any other value was never ours
		mux.LedgerInForce = named
	}
	if n, set := s.get(s.keys.ReleaseGrace, InvalidReleaseGrace); set {
		mux.Grace = parseGrace(n)
	}
	if n, set := s.get(s.keys.Placeholder, InvalidPlaceholder); set {
		mux.Placeholder = parsePlaceholder(n)
	}
	if n, set := s.get(s.keys.Generation, InvalidGeneration); set {
		mux.Generation = parseStamp(n)
	}
}

// isEmptyList says that the value has no entries: it is empty or only commas.
func isEmptyList(value string) bool {
	for range entries(value) {
		return false
	}
	return true
}

func parseCap(n *note) int {
	limit, ok := number(n.value, MaxCap)
	if !ok {
		n.problem("", n.value, textCap(n.value))
		return 0
	}
	return int(limit)
}

// capOf returns the lower one of the owner's cap and the provider's limit, or the default if there is neither.
func capOf(p Provider, stated int, key string, found *Findings) Cap {
	if p.MaxPorts > 0 && (stated == 0 || stated > p.MaxPorts) {
		found.warn(p.LimitReason, annotationField(key), "", "", textProviderCap(p, stated))
		return Cap{Ports: p.MaxPorts, Reason: p.LimitReason}
	}
	if stated == 0 {
		return Cap{Ports: DefaultMaxPorts}
	}
	return Cap{Ports: stated}
}

func parseConfigMapName(n *note) string {
	if !isDNSName(n.value) {
		n.problem("", n.value, textConfigMapName(n.value))
		return ""
	}
	return n.value
}

// parseGrace parses a duration in the syntax of Go and CEL, without a sign.
func parseGrace(n *note) time.Duration {
	grace, err := time.ParseDuration(n.value)
	if err != nil || grace < 0 || n.value[0] == '+' || n.value[0] == '-' {
		n.problem("", n.value, textDuration(n.value))
		return 0
	}
	return grace
}

func parsePlaceholder(n *note) Placeholder {
	switch n.value {
	case "keep":
		return PlaceholderKeep
	case "remove":
		return PlaceholderRemove
	}
	n.problem("", n.value, textPlaceholder(n.value))
	return PlaceholderUsual
}

func parseProvider(n *note) string {
	if _, known := providerCalled(n.value); !known {
		n.problem("", n.value, textProvider(n.value))
		return ""
	}
	return n.value
}

func parseStamp(n *note) int64 {
	stamp, ok := ParseGeneration(n.value)
	if !ok {
		n.problem("", n.value, textGeneration(n.value))
	}
	return stamp
}
