package table

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"slices"

	"github.com/google/nftables"
	corev1 "k8s.io/api/core/v1"
)

// Count is how many connections a service was asked for since the kernel has its element. Only the first packet of a connection meets
// the chains that translate.
type Count struct {
	Address  netip.Addr
	Protocol corev1.Protocol
	// First and Last are equal for a single port.
	First, Last uint16
	Connections uint64
}

// Counts reads the counts of all services from the kernel. It may run beside a Kernel of the same network namespace. Without our tables
// there are none.
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
	var counts []Count
	for _, set := range sets {
		if set.Name != setServices && set.Name != setRanges {
			continue
		}
		list, err := r.conn.GetSetElements(&nftables.Set{Table: r.table, Name: set.Name})
		if err != nil {
			return nil, fmt.Errorf("read set %s: %w", set.Name, err)
		}
		for i := range list {
			if count, ok := r.family.countOf(&list[i]); ok {
				counts = append(counts, count)
			}
		}
	}
	return counts, nil
}

// countOf reads an element. It is false for an element that isn't as we write it.
func (f family) countOf(e *nftables.SetElement) (Count, bool) {
	end := int(f.addressLen)
	if e.Counter == nil || len(e.Key) != end+2*alignment || len(e.KeyEnd) != 0 && len(e.KeyEnd) != len(e.Key) {
		return Count{}, false
	}
	address, _ := netip.AddrFromSlice(e.Key[:end])
	count := Count{Address: address, Protocol: protocolOf(e.Key[end]), First: binary.BigEndian.Uint16(e.Key[end+alignment:]),
		Connections: e.Counter.Packets}
	count.Last = count.First
	if len(e.KeyEnd) > 0 {
		count.Last = binary.BigEndian.Uint16(e.KeyEnd[end+alignment:])
	}
	return count, true
}

func protocolOf(number byte) corev1.Protocol {
	for _, protocol := range []corev1.Protocol{corev1.ProtocolUDP, corev1.ProtocolSCTP} {
		if protocolNumber(protocol) == number {
			return protocol
		}
	}
	return corev1.ProtocolTCP
}
