package table

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"slices"

	"github.com/google/nftables"
	corev1 "k8s.io/api/core/v1"
)

// Count is a service's traffic since the kernel has had its elements.
type Count struct {
	Service
	// Connections counts the first packets of connections: only they meet the chains that translate.
	Connections uint64
	// Packets and Bytes count both directions.
	Packets, Bytes uint64
}

// Service identifies a service.
type Service struct {
	Address  netip.Addr
	Protocol corev1.Protocol
	// First and Last are equal for a single port.
	First, Last uint16
}

// Counts reads the counts of all services from the kernel. It may run beside a Kernel of the same network namespace.
// Without our tables the list is empty.
func Counts(namespace int) ([]Count, error) {
	conn, err := Open(namespace).dial()
	if err != nil {
		return nil, err
	}
	defer conn.CloseLasting()
	var counts []Count
	for _, f := range families() {
		of, err := newReader(f, namespace, conn).counts()
		if err != nil {
			return nil, err
		}
		counts = append(counts, of...)
	}
	return counts, nil
}

func (r *reader) counts() ([]Count, error) {
	tables, err := r.conn.ListTablesOfFamily(r.table.Family)
	if err != nil {
		return nil, fmt.Errorf("list tables: %w", err)
	}
	if !slices.ContainsFunc(tables, func(t *nftables.Table) bool { return t.Name == tableName }) {
		return nil, nil
	}
	sets, err := r.conn.GetSets(r.table)
	if err != nil {
		return nil, fmt.Errorf("list sets: %w", err)
	}
	counts := map[Service]*Count{}
	for _, set := range sets {
		isTraffic := set.Name == setTraffic || set.Name == setRangeTraffic
		if !isTraffic && set.Name != setServices && set.Name != setRanges {
			continue
		}
		list, err := r.elements(set.Name)
		if err != nil {
			return nil, err
		}
		for i := range list {
			service, ok := r.family.serviceOf(&list[i])
			if !ok {
				continue
			}
			count := counts[service]
			if count == nil {
				count = &Count{Service: service}
				counts[service] = count
			}
			if isTraffic {
				count.Packets, count.Bytes = list[i].Counter.Packets, list[i].Counter.Bytes
			} else {
				count.Connections = list[i].Counter.Packets
			}
		}
	}
	all := make([]Count, 0, len(counts))
	for _, count := range counts {
		all = append(all, *count)
	}
	return all, nil
}

// serviceOf reads the key of an element that counts. It returns false for an element that isn't as we write it.
func (f family) serviceOf(e *nftables.SetElement) (Service, bool) {
	end := int(f.addressLen)
	if e.Counter == nil || len(e.Key) != end+2*alignment || len(e.KeyEnd) != 0 && len(e.KeyEnd) != len(e.Key) {
		return Service{}, false
	}
	address, _ := netip.AddrFromSlice(e.Key[:end])
	service := Service{Address: address, Protocol: protocolOf(e.Key[end]),
		First: binary.BigEndian.Uint16(e.Key[end+alignment:])}
	service.Last = service.First
	if len(e.KeyEnd) > 0 {
		service.Last = binary.BigEndian.Uint16(e.KeyEnd[end+alignment:])
	}
	return service, true
}

func protocolOf(number byte) corev1.Protocol {
	for _, protocol := range []corev1.Protocol{corev1.ProtocolUDP, corev1.ProtocolSCTP} {
		if protocolNumber(protocol) == number {
			return protocol
		}
	}
	return corev1.ProtocolTCP
}
