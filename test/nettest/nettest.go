// Package nettest lets tests send real packets between network namespaces that they make themselves. The machine's own
// namespace stays untouched, and everything ends with the test process.
package nettest

import (
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Namespace is a network namespace without a name. It ends with the test process at the latest.
type Namespace struct {
	t testing.TB
	// FD refers to the namespace.
	FD int
}

// New makes a namespace. It skips the test without root.
func New(t testing.TB) *Namespace {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("NOT COVERED: real packets and nftables need network namespaces; run as root to test them")
	}
	n := &Namespace{t: t}
	err := onThread(func() (err error) {
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			return err
		}
		n.FD, err = unix.Open("/proc/thread-self/ns/net", unix.O_RDONLY|unix.O_CLOEXEC, 0)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Close(n.FD) })
	// Duplicate address detection keeps an IPv6 link silent for a second.
	n.Run("sh", "-c", "for f in all default; do echo 0 > /proc/sys/net/ipv6/conf/$f/accept_dad; done; ip link set lo up")
	return n
}

// onThread runs f on a thread that ends afterwards, so that nothing else runs in its namespace.
func onThread(f func() error) error {
	result := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		result <- f()
	}()
	return <-result
}

// Inside runs f in the namespace.
func (n *Namespace) Inside(f func() error) error {
	return onThread(func() error {
		if err := unix.Setns(n.FD, unix.CLONE_NEWNET); err != nil {
			return err
		}
		return f()
	})
}

// Run runs a command in the namespace, and returns its output.
func (n *Namespace) Run(command ...string) string {
	n.t.Helper()
	var out []byte
	err := n.Inside(func() (err error) {
		out, err = exec.Command(command[0], command[1:]...).CombinedOutput()
		return err
	})
	if err != nil {
		n.t.Fatalf("%s: %v\n%s", strings.Join(command, " "), err, out)
	}
	return string(out)
}

// Path names the namespace to ip.
func (n *Namespace) Path() string { return fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), n.FD) }

// Connect makes a link called name in n, and called peer in the other namespace.
func (n *Namespace) Connect(name string, other *Namespace, peer string) {
	n.Run("ip", "link", "add", name, "type", "veth", "peer", "name", peer, "netns", other.Path())
	n.Run("ip", "link", "set", name, "up")
	other.Run("ip", "link", "set", peer, "up")
}

// Bridge makes a bridge, which joins links of the namespace to one segment.
func (n *Namespace) Bridge(name string) {
	n.Run("ip", "link", "add", name, "type", "bridge")
	n.Run("ip", "link", "set", name, "up")
}

// Plug makes a link from another namespace to a bridge of n.
func (n *Namespace) Plug(bridge, port string, other *Namespace, peer string) {
	n.Connect(port, other, peer)
	n.Run("ip", "link", "set", port, "master", bridge)
}

// Forward lets the namespace forward packets.
func (n *Namespace) Forward() {
	n.Run("sh", "-c", "echo 1 > /proc/sys/net/ipv4/ip_forward; echo 1 > /proc/sys/net/ipv6/conf/all/forwarding")
}

// Address adds addresses to a link.
func (n *Namespace) Address(link string, addresses ...string) {
	for _, a := range addresses {
		command := []string{"ip", "address", "add", a, "dev", link}
		if strings.Contains(a, ":") {
			command = append(command, "nodad")
		}
		n.Run(command...)
	}
}

// Serve answers each connection with "own address:port client's address".
func (n *Namespace) Serve(port int) {
	n.t.Helper()
	n.accept(port, func(conn net.Conn) {
		fmt.Fprintf(conn, "%s %s", unmapped(conn.LocalAddr()), unmapped(conn.RemoteAddr()).Addr())
	})
}

// accept handles each connection to a port, and closes it.
func (n *Namespace) accept(port int, handle func(net.Conn)) {
	n.t.Helper()
	err := n.Inside(func() error {
		listener, err := net.Listen("tcp", fmt.Sprintf("[::]:%d", port))
		if err != nil {
			return err
		}
		n.t.Cleanup(func() { _ = listener.Close() })
		go func() {
			for {
				conn, err := listener.Accept()
				if err != nil {
					return
				}
				go func() {
					defer conn.Close()
					handle(conn)
				}()
			}
		}()
		return nil
	})
	if err != nil {
		n.t.Fatal(err)
	}
}

// ServeUDP answers each datagram to an address as Serve does.
func (n *Namespace) ServeUDP(address netip.Addr, port int) {
	n.t.Helper()
	err := n.Inside(func() error {
		conn, err := net.ListenPacket("udp", netip.AddrPortFrom(address, uint16(port)).String())
		if err != nil {
			return err
		}
		n.t.Cleanup(func() { _ = conn.Close() })
		go func() {
			buffer := make([]byte, 1500)
			for {
				_, from, err := conn.ReadFrom(buffer)
				if err != nil {
					return
				}
				_, _ = conn.WriteTo(fmt.Appendf(nil, "%s %s", unmapped(conn.LocalAddr()), unmapped(from).Addr()), from)
			}
		}()
		return nil
	})
	if err != nil {
		n.t.Fatal(err)
	}
}

func unmapped(a net.Addr) netip.AddrPort {
	parsed := netip.MustParseAddrPort(a.String())
	return netip.AddrPortFrom(parsed.Addr().Unmap(), parsed.Port())
}

// Ask connects over TCP, and returns the server's own address and the client's address that the server saw.
func (n *Namespace) Ask(address netip.Addr, port int) (server, client string, err error) {
	return n.AskFrom(0, address, port)
}

// AskFrom is Ask from a given port of the client.
func (n *Namespace) AskFrom(source int, address netip.Addr, port int) (server, client string, err error) {
	return n.ask(time.Second, net.Dialer{Timeout: 700 * time.Millisecond, LocalAddr: &net.TCPAddr{Port: source}}, "tcp",
		address, port)
}

// AskUDP is Ask over UDP.
func (n *Namespace) AskUDP(address netip.Addr, port int) (server, client string, err error) {
	return n.AskUDPWithin(time.Second, address, port)
}

// AskUDPWithin is AskUDP with another timeout.
func (n *Namespace) AskUDPWithin(timeout time.Duration, address netip.Addr, port int) (server, client string,
	err error) {
	return n.ask(timeout, net.Dialer{}, "udp", address, port)
}

// AskWithin is Ask with another timeout for the connection. The answer must still come within a second.
func (n *Namespace) AskWithin(timeout time.Duration, address netip.Addr, port int) (server, client string, err error) {
	return n.ask(time.Second, net.Dialer{Timeout: timeout}, "tcp", address, port)
}

func (n *Namespace) ask(timeout time.Duration, dialer net.Dialer, network string, address netip.Addr, port int) (server,
	client string, err error) {
	err = n.Inside(func() error {
		conn, err := dialer.Dial(network, netip.AddrPortFrom(address, uint16(port)).String())
		if err != nil {
			return err
		}
		defer conn.Close()
		_ = conn.SetDeadline(time.Now().Add(timeout))
		if network == "udp" {
			_, _ = conn.Write([]byte("?"))
		}
		answer := make([]byte, 1500)
		size, err := conn.Read(answer)
		if err != nil {
			return err
		}
		if network == "tcp" { // the server closes first, so that the client's port is free again
			_, _ = conn.Read(make([]byte, 1))
		}
		_, err = fmt.Sscan(string(answer[:size]), &server, &client)
		return err
	})
	return server, client, err
}

// TalkUDP returns a function that sends a datagram, always from one port, and returns the server's address, or an empty
// string without an answer.
func (n *Namespace) TalkUDP(address netip.Addr, port int) func() string {
	n.t.Helper()
	var conn net.Conn
	err := n.Inside(func() (err error) {
		conn, err = net.Dial("udp", netip.AddrPortFrom(address, uint16(port)).String())
		return err
	})
	if err != nil {
		n.t.Fatal(err)
	}
	n.t.Cleanup(func() { _ = conn.Close() })
	return func() string {
		_ = conn.SetDeadline(time.Now().Add(300 * time.Millisecond))
		_, _ = conn.Write([]byte("?"))
		answer := make([]byte, 1500)
		size, err := conn.Read(answer)
		if err != nil {
			return ""
		}
		server, _, _ := strings.Cut(string(answer[:size]), " ")
		return server
	}
}

// Echo answers each byte of a connection with the same byte, until the client closes it.
func (n *Namespace) Echo(port int) {
	n.t.Helper()
	n.accept(port, func(conn net.Conn) { _, _ = io.Copy(conn, conn) })
}

// Talk opens a connection to an Echo. The result is true if the connection still echoes.
func (n *Namespace) Talk(address netip.Addr, port int) func() bool {
	n.t.Helper()
	var conn net.Conn
	err := n.Inside(func() (err error) {
		conn, err = net.DialTimeout("tcp", netip.AddrPortFrom(address, uint16(port)).String(), 2*time.Second)
		return err
	})
	if err != nil {
		n.t.Fatal(err)
	}
	n.t.Cleanup(func() { _ = conn.Close() })
	return func() bool {
		_ = conn.SetDeadline(time.Now().Add(3 * time.Second))
		if _, err := conn.Write([]byte("?")); err != nil {
			return false
		}
		size, err := conn.Read(make([]byte, 1))
		return err == nil && size == 1
	}
}
