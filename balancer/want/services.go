package want

import (
	"cmp"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	"nowake.ai/svc-lb-mux/validation"
)

// servicesOf returns the services of an address: one for each port and each range of its mux. A mux that isn't in the
// list keeps those from before.
func (d *deciding) servicesOf(c carried) []draft {
	if c.service == nil {
		return d.servicesFromBefore(c)
	}
	ports := portsOf(d.Keys, c.service)
	all := make([]draft, 0, len(ports))
	for _, port := range ports {
		all = append(all, d.service(c, port))
	}
	return all
}

// portsOf returns the ports of a mux, a single one as a range of one number.
func portsOf(keys validation.Keys, mux *corev1.Service) []validation.MuxRange {
	all := make([]validation.MuxRange, 0, len(mux.Spec.Ports))
	for _, port := range mux.Spec.Ports {
		if port.Port >= validation.MinPort && port.Port <= validation.MaxPort { // the API server takes no other
			all = append(all, validation.MuxRange{Name: port.Name, Run: validation.PortRange{First: port.Port, Last: port.Port},
				Protocol: cmp.Or(port.Protocol, corev1.ProtocolTCP)})
		}
	}
	return append(all, validation.ParseRanges(mux.Annotations[keys.Ranges])...)
}

// service returns the service of a port. Without backends it is closed.
func (d *deciding) service(c carried, port validation.MuxRange) draft {
	s := draft{port: port}
	s.Address, s.Mux, s.Protocol, s.First = c.address, c.mux, port.Protocol, uint16(port.Run.First)
	s.Last = uint16(port.Run.Last)
	family := discoveryv1.AddressTypeIPv6
	if c.address.Is4() {
		family = discoveryv1.AddressTypeIPv4
	}
	allowed, usable := everySource(), []source(nil)
	for _, slice := range d.slices.of(c.service, slicePort{port.Name, s.Protocol, family}) {
		content := d.contentOf(slice.Slice)
		if err := content.settingsErr; err != nil {
			d.refuse(c.mux, port.Name, err.reason, err.message)
			continue
		}
		if !content.set.isOpen {
			allowed = allowed.intersect(content.set.sources)
		}
		s.Sticky, s.local = s.Sticky || content.set.sticky, s.local || content.set.local
		usable = append(usable, slice)
	}
	var open bool
	if s.Sources, open = allowed.of(c.address); open {
		s.slices, s.demand = usable, d.demand(usable)
	}
	return s
}

// plain drops the settings of a service without backends: they would look like a difference.
func (s Service) plain() Service {
	if len(s.Slots) == 0 {
		s.Slots, s.Sources, s.Sticky = nil, nil, false
	}
	return s
}

// servicesFromBefore returns an address's services of the last decision. It checks the backends again, because the
// machine's settings may have changed since.
func (d *deciding) servicesFromBefore(c carried) []draft {
	d.refuse(c.mux, "", MuxNotListed, fmt.Sprintf("mux %s isn't there, but its claim is held: its ports stay as they "+
		"were until the controller releases the claim", c.mux))
	if d.Before == nil {
		return nil
	}
	var all []draft
	for _, s := range d.Before.Tables.Services {
		if s.Address != c.address || s.Mux != c.mux {
			continue
		}
		s.Slots = slices.DeleteFunc(slices.Clone(s.Slots), func(b Backend) bool { return d.badBackend(b.Address) != "" })
		all = append(all, draft{Service: s, demand: len(s.Slots)})
	}
	return all
}

// withoutOverlaps returns the services sorted, without those that share a number with an earlier one: the kernel would
// refuse the whole transaction. Of two with the same first number, the one that the mux lists first stays.
func (d *deciding) withoutOverlaps(all []draft) []draft {
	slices.SortStableFunc(all, func(a, b draft) int {
		return cmp.Or(a.Address.Compare(b.Address), cmp.Compare(a.Protocol, b.Protocol), cmp.Compare(a.First, b.First))
	})
	kept := all[:0] // a copy of a hundred thousand takes much memory
	for _, s := range all {
		if n := len(kept); n > 0 && kept[n-1].Address == s.Address && kept[n-1].Protocol == s.Protocol &&
			s.First <= kept[n-1].Last {
			d.refuse(s.Mux, "", Overlapping, fmt.Sprintf(
				"ports %d to %d/%s of %s overlap ports %d to %d of mux %s: use other numbers",
				s.First, s.Last, s.Protocol, s.Address, kept[n-1].First, kept[n-1].Last, kept[n-1].Mux))
			continue
		}
		kept = append(kept, s)
	}
	return kept
}
