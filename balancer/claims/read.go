package claims

import (
	"fmt"
	"net/netip"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
)

// claims reads a document and fails at its first contradiction.
func (d *document) claims() (Claims, error) {
	r := reader{claims: Claims{Pool: d.Pool}, gateways: map[string]bool{}, seats: map[int]bool{},
		muxes: map[types.NamespacedName]bool{}, holders: map[netip.Addr]types.NamespacedName{}}
	if d.Pool == "" {
		return Claims{}, fmt.Errorf("pool is missing")
	}
	for i := range d.Gateways {
		if err := r.gateway(&d.Gateways[i]); err != nil {
			return Claims{}, fmt.Errorf("gateways[%d]: %w", i, err)
		}
	}
	for i := range d.Seats {
		if err := r.seat(&d.Seats[i]); err != nil {
			return Claims{}, fmt.Errorf("seats[%d]: %w", i, err)
		}
	}
	for i := range d.Muxes {
		if err := r.mux(&d.Muxes[i]); err != nil {
			return Claims{}, fmt.Errorf("muxes[%d], mux %s/%s: %w", i, short(d.Muxes[i].Namespace), short(d.Muxes[i].Name), err)
		}
	}
	if err := r.down(d.Down); err != nil {
		return Claims{}, fmt.Errorf("down: %w", err)
	}
	if err := r.adverts(d.Adverts); err != nil {
		return Claims{}, fmt.Errorf("adverts: %w", err)
	}
	var err error
	if r.claims.Pools, err = ParseRanges(d.Pools); err != nil {
		return Claims{}, fmt.Errorf("pools: %w", err)
	}
	r.claims.sort()
	return r.claims, nil
}

func (r *reader) adverts(a *advertsJSON) error {
	if a == nil {
		return nil
	}
	for _, part := range []struct {
		text string
		to   *time.Duration
	}{{a.Interval, &r.claims.Adverts.Interval}, {a.Believed, &r.claims.Adverts.Believed}} {
		value, err := time.ParseDuration(part.text)
		if err != nil || !IsInterval(value) {
			return fmt.Errorf("%q isn't an interval from %s to %s in steps of %s", short(part.text), IntervalStep,
				LongestInterval, IntervalStep)
		}
		*part.to = value
	}
	if r.claims.Adverts.Believed < r.claims.Adverts.Interval {
		return fmt.Errorf("believed %s is shorter than interval %s", a.Believed, a.Interval)
	}
	return nil
}

func (r *reader) down(list []string) error {
	if len(list) > MaxDown {
		return fmt.Errorf("%d backends, and at most %d are read", len(list), MaxDown)
	}
	for _, text := range list {
		backend, err := netip.ParseAddrPort(text)
		if err != nil || backend.Addr().Zone() != "" || backend.Addr().Is4In6() || backend.Port() == 0 {
			return fmt.Errorf("%q isn't a backend such as 10.0.0.1:8080", short(text))
		}
		if slices.Contains(r.claims.Down, backend) {
			return fmt.Errorf("backend %s is there twice", backend)
		}
		r.claims.Down = append(r.claims.Down, backend)
	}
	return nil
}

// reader remembers the entries that it has read, to find contradictions.
type reader struct {
	claims   Claims
	gateways map[string]bool
	seats    map[int]bool
	muxes    map[types.NamespacedName]bool
	holders  map[netip.Addr]types.NamespacedName
}

func (r *reader) gateway(g *gatewayJSON) error {
	if len(validation.IsDNS1123Subdomain(g.Name)) > 0 {
		return fmt.Errorf("name %q can't be a gateway's name", short(g.Name))
	}
	if r.gateways[g.Name] {
		return fmt.Errorf("gateway %s is there twice", g.Name)
	}
	r.gateways[g.Name] = true
	addresses, err := parseAddresses(g.Addresses)
	r.claims.Gateways = append(r.claims.Gateways, Gateway{g.Name, addresses})
	return err
}

func (r *reader) seat(s *seatJSON) error {
	if s.RouterID < 1 || s.RouterID > 255 {
		return fmt.Errorf("routerID %d isn't from 1 to 255", s.RouterID)
	}
	if r.seats[s.RouterID] {
		return fmt.Errorf("routerID %d is there twice", s.RouterID)
	}
	r.seats[s.RouterID] = true
	ordered := map[string]bool{}
	for _, name := range s.Order {
		if !r.gateways[name] || ordered[name] {
			return fmt.Errorf("order of routerID %d: gateway %q is there twice, or not among gateways", s.RouterID, short(name))
		}
		ordered[name] = true
	}
	r.claims.Seats = append(r.claims.Seats, Seat{uint8(s.RouterID), s.Order})
	return nil
}

func (r *reader) mux(m *muxJSON) error {
	key := types.NamespacedName{Namespace: m.Namespace, Name: m.Name}
	switch {
	case len(validation.IsDNS1123Label(m.Namespace)) > 0:
		return fmt.Errorf("namespace %q can't be a name in Kubernetes", short(m.Namespace))
	case len(validation.IsDNS1123Label(m.Name)) > 0:
		return fmt.Errorf("name %q can't be a name in Kubernetes", short(m.Name))
	case r.muxes[key]:
		return fmt.Errorf("the mux is there twice")
	case m.Seat != 0 && !r.seats[m.Seat]:
		return fmt.Errorf("seat %d isn't among seats", m.Seat)
	}
	r.muxes[key] = true
	released, err := parseTime(m.ReleasedAt)
	if err != nil {
		return err
	}
	addresses, err := parseAddresses(m.Addresses)
	if err != nil {
		return err
	}
	for i, a := range addresses {
		if holder, taken := r.holders[a]; taken {
			return fmt.Errorf("address %s belongs to mux %s, too", a, holder)
		}
		if i > 0 && addresses[0].Is4() == a.Is4() {
			return fmt.Errorf("addresses %s and %s are of one family", addresses[0], a)
		}
	}
	for _, a := range addresses {
		r.holders[a] = key
	}
	r.claims.Muxes = append(r.claims.Muxes, Mux{key, types.UID(m.UID), addresses, uint8(m.Seat), released})
	return nil
}

func parseAddresses(texts []string) ([]netip.Addr, error) {
	var addresses []netip.Addr
	for _, text := range texts {
		a, err := netip.ParseAddr(text)
		if err != nil || a.Zone() != "" || a.Is4In6() {
			return nil, fmt.Errorf("address %q isn't an IP address such as 192.0.2.1 or 2001:db8::1", short(text))
		}
		addresses = append(addresses, a)
	}
	return addresses, nil
}

// parseTime refuses years that couldn't be written again. It also refuses the zero time, which means that a claim isn't
// released.
func parseTime(text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	t, err := time.Parse(time.RFC3339, text)
	t = t.UTC().Truncate(time.Second)
	if err != nil || t.Year() < 1 || t.Year() > 9999 || t.IsZero() {
		return time.Time{}, fmt.Errorf("releasedAt %q isn't a time such as 2026-01-02T03:04:05Z", short(text))
	}
	return t, nil
}

// short keeps messages readable, whatever the ConfigMap holds.
func short(text string) string {
	const most = 80
	if len(text) > most {
		return text[:most] + "..."
	}
	return text
}
