package balancer_test

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/ipv4"

	"nowake.ai/svc-lb-mux/balancer/announce"
	"nowake.ai/svc-lb-mux/balancer/claims"
	"nowake.ai/svc-lb-mux/balancer/lease"
	"nowake.ai/svc-lb-mux/balancer/vrrp"
	"nowake.ai/svc-lb-mux/reconciler/addresses/decide"
	"nowake.ai/svc-lb-mux/reconciler/addresses/pool/config"
	"nowake.ai/svc-lb-mux/test/nettest"
)

// adverts are those that the client's machine hears, in their order.
type adverts struct {
	mu    sync.Mutex
	heard []string // "source interval", without repetitions
}

func (s *segment) listen() *adverts {
	s.t.Helper()
	all := &adverts{}
	err := s.client.Inside(func() error {
		conn, err := net.ListenPacket("ip4:112", "0.0.0.0")
		if err != nil {
			return err
		}
		s.t.Cleanup(func() { conn.Close() })
		raw, err := ipv4.NewRawConn(conn)
		if err != nil {
			return err
		}
		device, err := net.InterfaceByName("eth0")
		if err != nil {
			return err
		}
		go all.read(raw)
		return raw.JoinGroup(device, &net.IPAddr{IP: net.IPv4(224, 0, 0, 18)})
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return all
}

func (a *adverts) read(raw *ipv4.RawConn) {
	buffer := make([]byte, 4096)
	for {
		header, message, _, err := raw.ReadFrom(buffer)
		if err != nil {
			return
		}
		source, _ := netip.AddrFromSlice(header.Src.To4())
		destination, _ := netip.AddrFromSlice(header.Dst.To4())
		advert, err := vrrp.Parse(message, source, destination)
		if err != nil || advert.Addresses[0] != announce.SeatAddress("lb/p", 7, false) {
			continue
		}
		a.mu.Lock()
		if text := fmt.Sprintf("%s %s", source, advert.Interval); len(a.heard) == 0 || a.heard[len(a.heard)-1] != text {
			a.heard = append(a.heard, text)
		}
		a.mu.Unlock()
	}
}

func (a *adverts) list() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.heard)
}

// ruler decides about the pool's intervals, as the controller does. It tells one gateway of new claims long before the
// other one.
type ruler struct {
	order         []string
	claims        claims.Claims
	version       int
	first, second *child
}

func newRuler(t *testing.T, order []string) *ruler {
	t.Helper()
	n := news(order...)
	c, err := claims.Decode(&n.Claims, "p")
	if err != nil {
		t.Fatal(err)
	}
	return &ruler{order: order, claims: c, version: 1}
}

// late is how much later the second gateway gets the claims. It is several times as long as a backup waits at the
// default interval.
const late = 1500 * time.Millisecond

// pass decides once. It returns the intervals of the claims.
func (r *ruler) pass(t *testing.T, interval time.Duration) claims.Adverts {
	t.Helper()
	w := &decide.World{IsLive: true, Now: time.Now()}
	w.Pool = config.Pool{Name: "p", RouterIDs: []uint8{7}, Announce: config.AnnounceVRRP, AdvertInterval: interval,
		Grace: time.Hour}
	w.Stored.Claims, w.Stored.Version = &r.claims, lease.Version{UID: "claims", ResourceVersion: fmt.Sprint(r.version)}
	for _, k := range []*child{r.first, r.second} {
		g := lease.Gateway{Name: k.name, Facts: &lease.Facts{Capacity: 1}, Report: k.reported()}
		w.Gateways = append(w.Gateways, decide.Gateway{IsLive: true, Gateway: g})
	}
	d := decide.Decide(w)
	if d.Claims == nil || d.Claims.Adverts == r.claims.Adverts {
		return r.claims.Adverts
	}
	r.claims.Adverts = d.Claims.Adverts
	r.version++
	text, err := claims.Encode(r.claims)
	if err != nil {
		t.Fatal(err)
	}
	n := news(r.order...)
	n.Claims.ResourceVersion, n.Claims.Data[claims.Key] = fmt.Sprint(r.version), text
	r.first.post(n)
	second := r.second
	time.AfterFunc(late, func() { _ = second.news.Encode(n) })
	return r.claims.Adverts
}

// change makes passes until the claims have nothing but the new interval, and gateways had time to err.
func (r *ruler) change(t *testing.T, interval time.Duration) {
	t.Helper()
	want := claims.Adverts{Interval: interval, Believed: interval}
	if interval == claims.DefaultInterval {
		want = claims.Adverts{}
	}
	var steps []claims.Adverts
	for end := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		now := r.pass(t, interval)
		if len(steps) == 0 || steps[len(steps)-1] != now {
			steps = append(steps, now)
		}
		if now == want {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("after a minute, the claims say %+v instead of %s", steps, interval)
		}
	}
	t.Logf("to %s in the steps %+v", interval, steps)
	time.Sleep(2 * late)
}

// watchAddresses returns a function that returns what happened to the mux's address on a gateway since.
func watchAddresses(t *testing.T, gateway *nettest.Namespace) func() string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "addresses")
	gateway.Run("sh", "-c", "ip -o monitor address > "+file+" 2>&1 & echo $! > "+file+".pid")
	t.Cleanup(func() { gateway.Run("sh", "-c", "kill $(cat "+file+".pid)") })
	return func() string {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Error(err)
		}
		isOther := func(line string) bool { return !strings.Contains(line, "10.9.1.100") }
		return strings.Join(slices.DeleteFunc(strings.Split(string(text), "\n"), isOther), "\n")
	}
}

// The pool's interval becomes ten times as long, and then short again. The holder of the seat learns of each step
// first, or last. Packets show that the other gateway never becomes a second holder.
func TestIntervalChangesWithoutASecondHolder(t *testing.T) {
	gateways := map[string]string{"built-in routers": "", "a backup with keepalived": "b", "a holder with keepalived": "a"}
	for name, keepalivedOn := range gateways {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSegment(t)
			change := func(*childConfig) {}
			if keepalivedOn != "" {
				change, _ = s.withKeepalived(t, keepalivedOn)
			}
			a, b := s.pair(change)
			s.awaitAnswers()
			heard, onB := s.listen(), watchAddresses(t, s.b)
			r := newRuler(t, []string{"a", "b"})
			eventually(t, "an advert is heard", func() bool { return len(heard.list()) > 0 })
			first := []*child{a, b} // the holder, or the backup
			if keepalivedOn != "" {
				first = slices.DeleteFunc(first, func(k *child) bool { return k.name != keepalivedOn })
			}
			want := []string{"10.9.1.1 100ms"}
			for _, r.first = range first {
				r.second = map[*child]*child{a: b, b: a}[r.first]
				r.change(t, time.Second)
				r.change(t, claims.DefaultInterval)
				want = append(want, "10.9.1.1 1s", "10.9.1.1 100ms")
			}
			if got := heard.list(); !slices.Equal(got, want) {
				t.Errorf("adverts:\n got %v\nwant %v", got, want)
			}
			if seen := onB(); seen != "" {
				t.Errorf("gateway b had the address:\n%s", seen)
			}
			s.awaitAnswers()
		})
	}
}
