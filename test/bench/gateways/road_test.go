package gateways

import (
	"errors"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"nowake.ai/svc-lb-mux/test/nettest"
)

const (
	services = 10_000 // ports of the mux, and of all Services of kube-proxy together
	first    = 10_000 // the first port's number
	target   = 8080
)

func address() netip.Addr { return netip.MustParseAddr("192.0.2.10") }

// source is the address that backends see.
func source() netip.Addr { return netip.MustParseAddr("10.9.2.1") }

func backends() []netip.Addr {
	a := netip.MustParseAddr
	return []netip.Addr{a("10.9.2.11"), a("10.9.2.12"), a("10.9.2.13")}
}

// road is a client, a machine that translates, and a machine with three backends.
type road struct{ client, gateway, servers *nettest.Namespace }

func newRoad(b *testing.B) *road {
	b.Helper()
	r := &road{client: nettest.New(b), gateway: nettest.New(b), servers: nettest.New(b)}
	r.gateway.Forward()
	r.gateway.Connect("front", r.client, "eth0")
	r.gateway.Connect("back", r.servers, "eth0")
	r.client.Address("eth0", "10.9.1.2/24")
	r.gateway.Address("front", "10.9.1.1/24", address().String()+"/32")
	r.gateway.Address("back", "10.9.2.1/24")
	r.client.Run("ip", "route", "add", "default", "via", "10.9.1.1")
	for _, backend := range backends() {
		r.servers.Address("eth0", backend.String()+"/24")
	}
	r.servers.Run("ip", "route", "add", "default", "via", "10.9.2.1")
	r.serve(b)
	return r
}

// serve accepts connections and closes them.
func (r *road) serve(b *testing.B) {
	b.Helper()
	must(b, r.servers.Inside(func() error {
		listener, err := net.ListenTCP("tcp", &net.TCPAddr{Port: target})
		if err != nil {
			return err
		}
		b.Cleanup(func() { _ = listener.Close() })
		go func() {
			for {
				connection, err := listener.AcceptTCP()
				if err != nil {
					return
				}
				abort(connection)
			}
		}()
		return nil
	}))
}

// abort ends a connection by a reset. After a usual close, the port would stay in use for a while, and there would soon
// be no free port.
func abort(connection *net.TCPConn) {
	_ = connection.SetLinger(0)
	_ = connection.Close()
}

// clients open connections at the same time.
const clients = 4

// perConnection opens connections to ports of the address for a while, and returns the time for each.
func (r *road) perConnection(b *testing.B, span time.Duration) time.Duration {
	b.Helper()
	var opened, failed atomic.Int64
	var all sync.WaitGroup
	start := time.Now()
	for i := range clients {
		all.Go(func() {
			err := r.client.Inside(func() error {
				for n := i; time.Since(start) < span; n += clients {
					to := netip.AddrPortFrom(address(), uint16(first+n%services))
					connection, err := net.DialTCP("tcp", nil, net.TCPAddrFromAddrPort(to))
					if err != nil && !errors.Is(err, syscall.ECONNRESET) { // the server may be faster than our dialer
						failed.Add(1)
						continue
					}
					if connection != nil {
						abort(connection)
					}
					opened.Add(1)
				}
				return nil
			})
			if err != nil {
				b.Error(err)
			}
		})
	}
	all.Wait()
	if failed.Load() > 0 {
		b.Fatalf("%d connections failed, %d were opened", failed.Load(), opened.Load())
	}
	return time.Since(start) / time.Duration(max(1, opened.Load()))
}

func must(b testing.TB, err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}
