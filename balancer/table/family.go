package table

import (
	"net/netip"

	"github.com/google/nftables"
	"golang.org/x/sys/unix"
)

// tableName is the name of our table in each family.
const tableName = "svc-lb-mux"

// family has the differences between IPv4 and IPv6.
type family struct {
	number                    byte // NFPROTO_IPV4 or NFPROTO_IPV6
	addressLen                uint32
	sourceOffset, destination uint32 // where the IP header has the addresses
	address                   nftables.SetDatatype
}

func ipv4() family {
	return family{unix.NFPROTO_IPV4, 4, 12, 16, nftables.TypeIPAddr}
}

func ipv6() family {
	return family{unix.NFPROTO_IPV6, 16, 8, 24, nftables.TypeIP6Addr}
}

// families returns both, in the order in which transactions list them.
func families() []family { return []family{ipv4(), ipv6()} }

// has is true for addresses of the family.
func (f family) has(address netip.Addr) bool { return address.BitLen() == int(f.addressLen)*8 }

// words is the number of 32-bit registers that an address takes.
func (f family) words() uint32 { return f.addressLen / 4 }
