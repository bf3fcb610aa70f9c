package announce

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"syscall"

	"golang.org/x/net/ipv4"
	"golang.org/x/net/ipv6"
	"golang.org/x/sys/unix"

	"nowake.ai/svc-lb-mux/balancer/vrrp"
)

const (
	protocolVRRP = 112
	hops         = 255 // a packet with less came through a router
)

// heard is an advert from another gateway.
type heard struct {
	advert vrrp.Advert
	source netip.Addr
}

// wire sends and receives adverts on one interface.
type wire struct {
	device *net.Interface
	source netip.Addr
	four   *ipv4.RawConn
	six    *ipv6.PacketConn
	// close closes the socket.
	close func() error
}

// groupOf returns the multicast group of adverts.
func groupOf(source netip.Addr) netip.Addr {
	if source.Is4() {
		return netip.AddrFrom4([4]byte{224, 0, 0, 18})
	}
	return netip.MustParseAddr("ff02::12")
}

// openWire opens a socket on an interface. Adverts come from the source.
func openWire(device *net.Interface, source netip.Addr) (*wire, error) {
	network, local := "ip6:112", "::"
	if source.Is4() {
		network, local = "ip4:112", "0.0.0.0"
	}
	config := net.ListenConfig{Control: func(_, _ string, raw syscall.RawConn) error {
		var failed error
		err := raw.Control(func(fd uintptr) { failed = unix.BindToDevice(int(fd), device.Name) })
		return errors.Join(err, failed)
	}}
	conn, err := config.ListenPacket(context.Background(), network, local)
	if err != nil {
		return nil, fmt.Errorf("open a socket for protocol 112 on interface %s: %w", device.Name, err)
	}
	w := &wire{device: device, source: source, close: conn.Close}
	if source.Is4() {
		err = w.prepare4(conn)
	} else {
		err = w.prepare6(conn)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("listen to adverts on interface %s: %w", device.Name, err), conn.Close())
	}
	return w, nil
}

func (w *wire) prepare4(conn net.PacketConn) error {
	raw, err := ipv4.NewRawConn(conn)
	if err != nil {
		return err
	}
	w.four = raw
	return errors.Join(raw.JoinGroup(w.device, w.group()), raw.SetMulticastInterface(w.device),
		raw.SetMulticastLoopback(false))
}

func (w *wire) prepare6(conn net.PacketConn) error {
	w.six = ipv6.NewPacketConn(conn)
	return errors.Join(w.six.JoinGroup(w.device, w.group()), w.six.SetMulticastInterface(w.device),
		w.six.SetMulticastLoopback(false),
		w.six.SetControlMessage(ipv6.FlagHopLimit|ipv6.FlagDst, true))
}

func (w *wire) group() net.Addr { return &net.IPAddr{IP: groupOf(w.source).AsSlice()} }

// send sends an advert to each destination. It returns true unless every one failed.
func (w *wire) send(advert *vrrp.Advert, destinations []netip.Addr) (bool, error) {
	var failed []error
	for _, to := range destinations {
		message, err := advert.Append(nil, w.source, to)
		if err == nil {
			err = w.sendTo(message, to)
		}
		if err != nil {
			failed = append(failed, fmt.Errorf("send an advert to %s: %w", to, err))
		}
	}
	return len(failed) < max(len(destinations), 1), errors.Join(failed...)
}

func (w *wire) sendTo(message []byte, to netip.Addr) error {
	if w.four != nil {
		header := &ipv4.Header{Version: ipv4.Version, Len: ipv4.HeaderLen, TOS: 0xc0, TotalLen: ipv4.HeaderLen + len(message),
			TTL:      hops,
			Protocol: protocolVRRP, Src: w.source.AsSlice(), Dst: to.AsSlice()}
		return w.four.WriteTo(header, message, nil)
	}
	_, err := w.six.WriteTo(message,
		&ipv6.ControlMessage{HopLimit: hops, Src: w.source.AsSlice(), IfIndex: w.device.Index},
		&net.IPAddr{IP: to.AsSlice()})
	return err
}

// receive waits for the next advert. It returns an error once the socket is closed or broken.
func (w *wire) receive(buffer []byte) (heard, error) {
	for {
		p, err := w.read(buffer)
		if err != nil {
			return heard{}, err
		}
		if p.hopLimit != hops || p.source == w.source {
			continue
		}
		if advert, err := vrrp.Parse(p.message, p.source, p.destination); err == nil {
			return heard{advert, p.source}, nil
		}
	}
}

// packet is a packet of protocol 112.
type packet struct {
	message             []byte
	source, destination netip.Addr
	hopLimit            int
}

func (w *wire) read(buffer []byte) (packet, error) {
	if w.four != nil {
		header, message, _, err := w.four.ReadFrom(buffer)
		if err != nil {
			return packet{}, err
		}
		return packet{message, plainAddr(header.Src), plainAddr(header.Dst), header.TTL}, nil
	}
	n, control, from, err := w.six.ReadFrom(buffer)
	ip, ok := from.(*net.IPAddr)
	if err != nil || control == nil || !ok {
		return packet{}, err
	}
	return packet{buffer[:n], plainAddr(ip.IP), plainAddr(control.Dst), control.HopLimit}, nil
}

func plainAddr(ip net.IP) netip.Addr {
	a, _ := netip.AddrFromSlice(ip)
	return a.Unmap()
}
