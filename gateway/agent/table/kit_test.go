package table_test

import (
	"fmt"
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

// namespace is a network namespace without a name. It ends with the test process at the latest.
type namespace struct {
	t  testing.TB
	fd int
}

func newNamespace(t testing.TB) *namespace {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("NOT COVERED: real packets and nftables need network namespaces; run as root to test them")
	}
	n := &namespace{t: t}
	err := onThread(func() (err error) {
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			return err
		}
		n.fd, err = unix.Open("/proc/thread-self/ns/net", unix.O_RDONLY|unix.O_CLOEXEC, 0)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Close(n.fd) })
	// Duplicate address detection keeps an IPv6 link silent for a second.
	n.run("sh", "-c", "for f in all default; do echo 0 > /proc/sys/net/ipv6/conf/$f/accept_dad; done; ip link set lo up")
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

func (n *namespace) inside(f func() error) error {
	return onThread(func() error {
		if err := unix.Setns(n.fd, unix.CLONE_NEWNET); err != nil {
			return err
		}
		return f()
	})
}

func (n *namespace) run(command ...string) string {
	n.t.Helper()
	var out []byte
	err := n.inside(func() (err error) {
		out, err = exec.Command(command[0], command[1:]...).CombinedOutput()
		return err
	})
	if err != nil {
		n.t.Fatalf("%s: %v\n%s", strings.Join(command, " "), err, out)
	}
	return string(out)
}

// path names the namespace to ip.
func (n *namespace) path() string { return fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), n.fd) }

// connect makes a link called name in n, and called peer in the other namespace.
func (n *namespace) connect(name string, other *namespace, peer string) {
	n.run("ip", "link", "add", name, "type", "veth", "peer", "name", peer, "netns", other.path())
	n.run("ip", "link", "set", name, "up")
	other.run("ip", "link", "set", peer, "up")
}

func (n *namespace) address(link string, addresses ...string) {
	for _, a := range addresses {
		command := []string{"ip", "address", "add", a, "dev", link}
		if strings.Contains(a, ":") {
			command = append(command, "nodad")
		}
		n.run(command...)
	}
}

// serve answers each connection and datagram with "own address:port client's address".
func (n *namespace) serve(port int) {
	n.t.Helper()
	err := n.inside(func() error {
		listener, err := net.Listen("tcp", fmt.Sprintf("[::]:%d", port))
		if err != nil {
			return err
		}
		n.t.Cleanup(func() { listener.Close() })
		go func() {
			for {
				conn, err := listener.Accept()
				if err != nil {
					return
				}
				fmt.Fprintf(conn, "%s %s", unmapped(conn.LocalAddr()), unmapped(conn.RemoteAddr()).Addr())
				conn.Close()
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

// ask connects over TCP, and returns the server's own address and the client's address that the server saw.
func (n *namespace) ask(address netip.Addr, port int) (server, client string, err error) {
	return n.askFrom(0, address, port)
}

func (n *namespace) askFrom(source int, address netip.Addr, port int) (server, client string, err error) {
	err = n.inside(func() error {
		dialer := net.Dialer{Timeout: 700 * time.Millisecond, LocalAddr: &net.TCPAddr{Port: source}}
		conn, err := dialer.Dial("tcp", netip.AddrPortFrom(address, uint16(port)).String())
		if err != nil {
			return err
		}
		defer conn.Close()
		_ = conn.SetDeadline(time.Now().Add(time.Second))
		_, err = fmt.Fscan(conn, &server, &client)
		return err
	})
	return server, client, err
}
