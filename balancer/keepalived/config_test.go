package keepalived

import (
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"nowake.ai/svc-lb-mux/balancer/claims"
	"nowake.ai/svc-lb-mux/balancer/want"
)

func seat() want.Seat {
	a := netip.MustParseAddr
	return want.Seat{RouterID: 7, Priority: 254, Peers: []netip.Addr{a("10.9.1.2"), a("fd09:1::2")}, Others: 1,
		Addresses: []netip.Addr{a("192.0.2.1"), a("2001:db8::1")}}
}

func TestConfigHasOneRouterForEachSeat(t *testing.T) {
	o := &Options{Interface: "front", Group: "lb/p", Interval: 100 * time.Millisecond, Unicast: true}
	const want4 = header + `
vrrp_instance svc_lb_mux_7 {
    version 3
    state BACKUP
    interface front
    virtual_router_id 7
    priority 254
    advert_int 0.10
    garp_master_delay 1
    garp_master_refresh 60
    unicast_peer {
        10.9.1.2
    }
    virtual_ipaddress {
        169.254.164.7/32 dev front
    }
    virtual_ipaddress_excluded {
        192.0.2.1/32 dev front
        2001:db8::1/128 dev front
    }
}
`
	four := config(o, []want.Seat{seat()}, false)
	if diff := cmp.Diff(want4, four); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	changing := seat()
	changing.Adverts = claims.Adverts{Interval: 100 * time.Millisecond, Believed: time.Second}
	if text := config(o, []want.Seat{changing}, false); !strings.Contains(text,
		"    advert_int 0.10\n    down_timer_adverts 30\n") {
		t.Errorf("while the pool's interval changes:\n%s", text)
	}
	six := config(o, []want.Seat{seat()}, true)
	if !strings.Contains(six, "        fd09:1::2\n") || strings.Contains(six, "10.9.1.2") ||
		!strings.Contains(six, "        fe80::") {
		t.Errorf("over IPv6:\n%s", six)
	}
	if none := config(o, nil, false); none != header {
		t.Errorf("without seats: %q", none)
	}
	found := addressesIn(four)
	for _, address := range append(seat().Addresses, netip.MustParseAddr("169.254.164.7")) {
		if !found[address] {
			t.Errorf("%s isn't read back from the file", address)
		}
	}
	if len(found) != 3 {
		t.Errorf("read back: %v", found)
	}
}

func TestProcessIsKeepalivedAlone(t *testing.T) {
	for name, test := range map[string]struct{ text, words string }{
		"no file":         {"", "no such file"},
		"no number":       {"x\n", `says "x"`},
		"the init system": {"1\n", `says "1"`},
		"another process": {" 2147483646\n", "isn't keepalived"},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "pid")
			if test.text != "" {
				if err := os.WriteFile(file, []byte(test.text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			_, err := process(file)
			if err == nil || !strings.Contains(err.Error(), test.words) ||
				!strings.Contains(err.Error(), "systemctl start keepalived") {
				t.Errorf("%v", err)
			}
		})
	}
}
