package console

import (
	"fmt"
	"net/http"
	"testing"
)

// from sets a request's remote address.
func from(address string) func(*http.Request) {
	return func(r *http.Request) { r.RemoteAddr = address }
}

// TestWrongTokensThrottleTheirSenderAlone sends guesses from more addresses than the throttle remembers. A reader with
// the right token from another address is still accepted.
func TestWrongTokensThrottleTheirSenderAlone(t *testing.T) {
	k := newKit(t, withToken)
	for i := range maxSenders + 1 {
		address := fmt.Sprintf("10.0.%d.%d:1", i/250, i%250+1)
		for range wrongInARow {
			k.ask("GET", "/", basic("", "guess"), from(address))
		}
		if got := k.ask("GET", "/", basic("", "guess"), from(address)); got.Code != http.StatusTooManyRequests {
			t.Fatalf("%s isn't throttled after %d wrong tokens in a row: %d", address, wrongInARow, got.Code)
		}
	}
	if got := k.ask("GET", "/", basic("", "open sesame"), from("192.0.2.1:1")); got.Code != http.StatusOK {
		t.Errorf("a reader from another address gets %d", got.Code)
	}
	if n := len(k.server.throttle.from); n > maxSenders {
		t.Errorf("%d senders are remembered", n)
	}
}

// TestAddressesOfOneNetworkAreOneSender checks IPv6: a machine may use all addresses of its network.
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
