package announce

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"time"

	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"
)

// mark is the protocol that our addresses have in the kernel (IFA_PROTO).
const (
	mark     = 112
	ifaProto = 11
)

// Assigned is an address of this machine.
type Assigned struct {
	Address netip.Addr
	// Interface is its interface's index.
	Interface int
	// Marked is true for one of our addresses: this package put it on the interface, or keepalived did, by the agent's
	// file.
	Marked bool
	// Permanent is true if the address has no lifetime. Deprecated is true if the kernel doesn't use it for own
	// connections.
	Permanent, Deprecated bool
}

// link reads and writes addresses over netlink.
type link struct{ conn *netlink.Conn }

func openLink() (*link, error) {
	conn, err := netlink.Dial(unix.NETLINK_ROUTE, nil)
	if err != nil {
		return nil, fmt.Errorf("open a netlink socket: %w", err)
	}
	return &link{conn}, nil
}

// list returns the addresses of all interfaces.
func (l *link) list() ([]Assigned, error) {
	answer, err := l.conn.Execute(netlink.Message{
		Header: netlink.Header{Type: unix.RTM_GETADDR, Flags: netlink.Request | netlink.Dump},
		Data:   make([]byte, unix.SizeofIfAddrmsg),
	})
	if err != nil {
		return nil, fmt.Errorf("list the machine's addresses: %w", err)
	}
	var all []Assigned
	for i := range answer {
		if a, ok := readAssigned(answer[i].Data); ok {
			all = append(all, a)
		}
	}
	return all, nil
}

func readAssigned(data []byte) (Assigned, bool) {
	if len(data) < unix.SizeofIfAddrmsg {
		return Assigned{}, false
	}
	flags, index := uint32(data[2]), int(binary.NativeEndian.Uint32(data[4:]))
	decoder, err := netlink.NewAttributeDecoder(data[unix.SizeofIfAddrmsg:])
	if err != nil {
		return Assigned{}, false
	}
	var address, local netip.Addr
	var marked bool
	for decoder.Next() {
		switch decoder.Type() {
		case unix.IFA_ADDRESS:
			address, _ = netip.AddrFromSlice(decoder.Bytes())
		case unix.IFA_LOCAL: // on a point-to-point link, IFA_ADDRESS is the peer's
			local, _ = netip.AddrFromSlice(decoder.Bytes())
		case unix.IFA_FLAGS:
			flags = decoder.Uint32()
		case ifaProto:
			marked = decoder.Uint8() == mark
		}
	}
	if local.IsValid() {
		address = local
	}
	return Assigned{address, index, marked, flags&unix.IFA_F_PERMANENT != 0, flags&unix.IFA_F_DEPRECATED != 0},
		address.IsValid() && decoder.Err() == nil
}

const forever = 1<<32 - 1

// put adds an address, or renews its lifetime. Without a lifetime it is permanent.
func (l *link) put(index int, address netip.Addr, lifetime time.Duration) error {
	valid := uint32(forever)
	if lifetime > 0 {
		valid = uint32(lifetime / time.Second)
	}
	e := encoder(address)
	e.Uint32(unix.IFA_FLAGS, unix.IFA_F_NODAD|unix.IFA_F_NOPREFIXROUTE)
	e.Uint8(ifaProto, mark)
	times := binary.NativeEndian.AppendUint32(nil, 0) // preferred lifetime
	times = binary.NativeEndian.AppendUint32(times, valid)
	e.Bytes(unix.IFA_CACHEINFO, append(times, make([]byte, 8)...))
	if err := l.change(unix.RTM_NEWADDR, netlink.Create|netlink.Replace, index, address, e); err != nil {
		return fmt.Errorf("put address %s on the interface: %w", address, err)
	}
	return nil
}

// drop removes an address. A missing address is no error.
func (l *link) drop(index int, address netip.Addr) error {
	err := l.change(unix.RTM_DELADDR, 0, index, address, encoder(address))
	if err != nil && !errors.Is(err, unix.EADDRNOTAVAIL) && !errors.Is(err, unix.ENODEV) {
		return fmt.Errorf("take address %s off the interface: %w", address, err)
	}
	return nil
}

func encoder(address netip.Addr) *netlink.AttributeEncoder {
	e := netlink.NewAttributeEncoder()
	e.Bytes(unix.IFA_LOCAL, address.AsSlice())
	e.Bytes(unix.IFA_ADDRESS, address.AsSlice())
	return e
}

func (l *link) change(kind netlink.HeaderType, flags netlink.HeaderFlags, index int, address netip.Addr,
	e *netlink.AttributeEncoder) error {
	attributes, err := e.Encode()
	if err != nil {
		return err
	}
	family := byte(unix.AF_INET6)
	if address.Is4() {
		family = unix.AF_INET
	}
	data := []byte{family, byte(address.BitLen()), 0, unix.RT_SCOPE_UNIVERSE}
	data = binary.NativeEndian.AppendUint32(data, uint32(index))
	_, err = l.conn.Execute(netlink.Message{
		Header: netlink.Header{Type: kind, Flags: netlink.Request | netlink.Acknowledge | flags},
		Data:   append(data, attributes...),
	})
	return err
}

// Addresses returns all addresses of this machine, sorted.
func Addresses() ([]Assigned, error) {
	l, err := openLink()
	if err != nil {
		return nil, err
	}
	defer l.conn.Close()
	all, err := l.list()
	slices.SortFunc(all, func(a, b Assigned) int { return a.Address.Compare(b.Address) })
	return all, err
}

// Remove takes our addresses off: the marked ones off all interfaces, and the named ones off the named interface.
func Remove(interfaceName string, named []netip.Addr) error {
	l, err := openLink()
	if err != nil {
		return err
	}
	defer l.conn.Close()
	all, err := l.list()
	if err != nil {
		return err
	}
	index := Index(interfaceName)
	var failed []error
	for _, a := range all {
		if a.Marked || a.Interface == index && slices.Contains(named, a.Address) {
			failed = append(failed, l.drop(a.Interface, a.Address))
		}
	}
	return errors.Join(failed...)
}

// Index returns the index of an interface; 0 if no interface has that name.
func Index(interfaceName string) int {
	device, err := net.InterfaceByName(interfaceName)
	if err != nil {
		return 0
	}
	return device.Index
}
