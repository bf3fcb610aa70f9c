package console

import (
	"fmt"
	"net/http"
	"testing"
)

// from is a request's address.
func from(address string) func(*http.Request) {
	return func(r *http.Request) { r.RemoteAddr = address }
}

// TestWrongTokensThrottleTheirSenderAlone has more addresses guess than the throttle remembers. A reader from another
// address, with the right token, still gets in.
func TestWrongTokensThrottleTheirSenderAlone(t *testing.T) {
	k := newKit(t, withToken)
	for i := range maxSenders + 1 {
		address := fmt.Sprintf("10.0.%d.%d:1", i/250, i%250+1)
		for range wrongInARow {
			k.ask("GET", "/", basic("", "guess"), from(address))
		}
		if got := k.ask("GET", "/", basic("", "guess"), from(address)); got.Code != http.StatusTooManyRequests {
			t.Fatalf("%s was wrong %d times in a row, and is still listened to: %d", address, wrongInARow, got.Code)
		}
	}
	if got := k.ask("GET", "/", basic("", "open sesame"), from("192.0.2.1:1")); got.Code != http.StatusOK {
		t.Errorf("a reader from elsewhere gets %d", got.Code)
	}
	if n := len(k.server.throttle.from); n > maxSenders {
		t.Errorf("%d senders are remembered", n)
	}
}

// TestAddressesOfOneNetworkAreOneSender: a machine may have all addresses of an IPv6 network.
func TestAddressesOfOneNetworkAreOneSender(t *testing.T) {
	k := newKit(t, withToken)
	for i := range wrongInARow {
		k.ask("GET", "/", basic("", "guess"), from(fmt.Sprintf("[2001:db8::%d]:1", i+1)))
	}
	for address, want := range map[string]int{
		"[2001:db8::ffff]:1":      http.StatusTooManyRequests,
		"[2001:db8:0:1::1]:1":     http.StatusOK,
		"192.0.2.1:1":             http.StatusOK,
		"[::ffff:192.0.2.1]:1":    http.StatusOK,
		"[fe80::1%eth0]:1":        http.StatusOK,
		"no address at all, or:1": http.StatusOK,
	} {
		if got := k.ask("GET", "/", basic("", "open sesame"), from(address)); got.Code != want {
			t.Errorf("%s gets %d, want %d", address, got.Code, want)
		}
	}
}
