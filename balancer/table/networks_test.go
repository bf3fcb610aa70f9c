package table_test

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"net"
	"net/netip"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"nowake.ai/svc-lb-mux/balancer/want"
)

// Many networks of pods are tunnels between machines. Requests take the tunnel, and so must their replies: a machine
// with a strict rp_filter drops a reply that comes from outside of it.
func TestBackendsInATunnelAnswerAMachineWithAStrictFilter(t *testing.T) {
	w := newWorld(t)
	w.tunnel()
	w.gateway.Run("sh", "-c", "for f in /proc/sys/net/ipv4/conf/*/rp_filter; do echo 1 > $f; done")
	w.backends.Serve(8080)
	for name, a := range families() {
		t.Run(name, func(t *testing.T) {
			s := a.service(80, 80, 8080)
			s.Slots = []want.Backend{{Address: tunnelled(a.mux, "11"), Port: 8080},
				{Address: tunnelled(a.mux, "12"), Port: 8080}}
			w.apply(t, &want.Tables{Addresses: []want.Address{a.carried(unspecified(a.mux))}, Services: []want.Service{s}})
			for range 10 {
				_, client, err := w.client.Ask(a.mux, 80)
				if want := tunnelled(a.mux, "1").String(); client != want || err != nil {
					t.Fatalf("a backend saw %q, want %s: %v", client, want, err)
				}
			}
		})
	}
}

// tunnel makes a VXLAN between the gateway and the backends' machine.
func (w *world) tunnel() {
	w.gateway.Run("ip", "link", "add", "vx", "type", "vxlan", "id", "7", "dstport", "4789", "local", "10.9.2.1", "remote",
		"10.9.2.11", "dev", "back")
	w.backends.Run("ip", "link", "add", "vx", "type", "vxlan", "id", "7", "dstport", "4789", "local", "10.9.2.11",
		"remote", "10.9.2.1", "dev", "eth0")
	w.gateway.Address("vx", "10.9.9.1/24", "fd09:9::1/64")
	w.backends.Address("vx", "10.9.9.11/24", "10.9.9.12/24", "fd09:9::11/64", "fd09:9::12/64")
	w.gateway.Run("ip", "link", "set", "vx", "up")
	w.backends.Run("ip", "link", "set", "vx", "up")
}

func unspecified(like netip.Addr) netip.Addr {
	if like.Is6() {
		return netip.IPv6Unspecified()
	}
	return netip.IPv4Unspecified()
}

// tunnelled is an address of the backends' machine in the tunnel, of the same family as another one.
func tunnelled(like netip.Addr, host string) netip.Addr {
	if like.Is6() {
		return netip.MustParseAddr("fd09:9::" + host)
	}
	return netip.MustParseAddr("10.9.9." + host)
}

// All clients have the same port. With the return path routed, backends would see one address and port for all of them.
func TestNoFlowOfTwoThousandClientsWithOnePortCrossesIntoAnother(t *testing.T) {
	const clients, port = 2000, 5000
	for name, a := range families() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.manyClients()
			w.backends.Echo(7777)
			w.apply(t, &want.Tables{Addresses: []want.Address{a.carried(a.mux)},
				Services: []want.Service{a.service(80, 80, 7777)}})
			var open []net.Conn
			for i := range clients {
				conn, err := w.dialFrom(netip.AddrPortFrom(clientNumber(a.mux, i), port), netip.AddrPortFrom(a.mux, 80))
				if err != nil {
					t.Fatalf("client %d: %v", i, err)
				}
				defer conn.Close()
				open = append(open, conn)
			}
			for round := range 2 {
				for i, conn := range open {
					_ = conn.SetDeadline(time.Now().Add(5 * time.Second))
					fmt.Fprintf(conn, "%08d", i)
				}
				for i, conn := range open {
					answer := make([]byte, 8)
					if _, err := io.ReadFull(conn, answer); err != nil || string(answer) != fmt.Sprintf("%08d", i) {
						t.Fatalf("round %d: client %d got %q: %v", round+1, i, answer, err)
					}
				}
			}
		})
	}
}

// manyClients gives the client's machine a network of addresses.
func (w *world) manyClients() {
	w.client.Run("sh", "-c", "echo 1 > /proc/sys/net/ipv6/ip_nonlocal_bind; ip route add local 10.20.0.0/16 dev lo; ip "+
		"-6 route add local fd09:20::/64 dev lo")
	w.gateway.Run("ip", "route", "add", "10.20.0.0/16", "via", "10.9.1.2")
	w.gateway.Run("ip", "-6", "route", "add", "fd09:20::/64", "via", "fd09:1::2")
}

// clientNumber is an address of manyClients, of the same family as another one.
func clientNumber(like netip.Addr, i int) netip.Addr {
	if like.Is6() {
		return netip.MustParseAddr(fmt.Sprintf("fd09:20::%x", i+1))
	}
	return netip.AddrFrom4([4]byte{10, 20, byte(i / 250), byte(i%250 + 1)})
}

func (w *world) dialFrom(from, to netip.AddrPort) (conn net.Conn, err error) {
	err = w.client.Inside(func() (err error) {
		dialer := net.Dialer{Timeout: 5 * time.Second, LocalAddr: net.TCPAddrFromAddrPort(from)}
		conn, err = dialer.Dial("tcp", to.String())
		return err
	})
	return conn, err
}

// Few kernels speak SCTP themselves. A gateway only translates, so a hand-made first packet is enough, and no real
// client is needed.
func TestFirstPacketOfSCTPReachesABackend(t *testing.T) {
	w := newWorld(t)
	for name, a := range families() {
		t.Run(name, func(t *testing.T) {
			s := a.service(3868, 3868, 8080)
			s.Protocol = corev1.ProtocolSCTP
			w.apply(t, &want.Tables{Addresses: []want.Address{a.carried(a.own)}, Services: []want.Service{s}})
			network := map[bool]string{false: "ip4:132", true: "ip6:132"}[a.mux.Is6()]
			var from, to net.PacketConn
			for n, conn := range map[*net.PacketConn]func(func() error) error{&from: w.client.Inside, &to: w.backends.Inside} {
				if err := conn(func() (err error) { *n, err = net.ListenPacket(network, ""); return err }); err != nil {
					t.Fatal(err)
				}
				defer (*n).Close()
			}
			if _, err := from.WriteTo(initOfSCTP(5000, 3868), &net.IPAddr{IP: a.mux.AsSlice()}); err != nil {
				t.Fatal(err)
			}
			_ = to.SetReadDeadline(time.Now().Add(5 * time.Second))
			packet := make([]byte, 100)
			size, sender, err := to.ReadFrom(packet)
			if err != nil || size < 12 || sender.String() != a.own.String() || binary.BigEndian.Uint16(packet[2:]) != 8080 {
				t.Errorf("a backend got % x from %v, %v", packet[:size], sender, err)
			}
		})
	}
}

// initOfSCTP is the packet with which a client begins (RFC 9260, sections 3 and 6.8).
func initOfSCTP(from, to uint16) []byte {
	p := binary.BigEndian.AppendUint16(nil, from)
	p = binary.BigEndian.AppendUint16(p, to)
	p = append(p, 0, 0, 0, 0, 0, 0, 0, 0) // no tag yet; the checksum
	p = append(p, 1, 0, 0, 20)            // a chunk INIT of 20 bytes
	p = append(p, 0, 0, 0, 7, 0, 1, 0, 0, 0, 1, 0, 1, 0, 0, 0, 7)
	binary.LittleEndian.PutUint32(p[8:], crc32.Checksum(p, crc32.MakeTable(crc32.Castagnoli)))
	return p
}
