package config_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"nowake.ai/svc-lb-mux/internal/testkit/golden"
	"nowake.ai/svc-lb-mux/reconciler/addresses/pool/config"
)

const valid = `
pools:
- name: public
  addresses: [192.0.2.0/24, 2001:db8::1-2001:db8::ff]
  exclude: [192.0.2.0]
  gateways: {names: [gw-1, gw-2], matchLabels: {rack: a}}
  announce: vrrp
  returnPath: routed
  routerIDs: [60, "50-51"]
  releaseGrace: 10m
  advertInterval: 200ms
  muxesPerNamespace: 20
  maxCapacity: 4
  probeBackends: 2s
- name: office
  addresses: [198.51.100.1]
  announce: none
`

func TestPoolsAreReadWithTheirDefaults(t *testing.T) {
	pools, err := config.Parse([]byte(valid))
	if err != nil {
		t.Fatal(err)
	}
	office, public := pools[0], pools[1]
	if office.Name != "office" || office.ReturnPath != "node" || office.Grace != 5*time.Minute ||
		len(office.RouterIDs) != 0 ||
		office.AdvertInterval != 100*time.Millisecond || office.MuxesPerNamespace != 256 || office.MaxCapacity != 1 ||
		office.ProbesBackends {
		t.Errorf("%+v", office)
	}
	if public.Announce != "vrrp" || public.ReturnPath != "routed" || public.Grace != 10*time.Minute ||
		public.AdvertInterval != 200*time.Millisecond || public.MuxesPerNamespace != 20 || public.MaxCapacity != 4 ||
		!public.ProbesBackends || len(public.Ranges) != 2 ||
		len(public.Excluded) != 1 || string(public.RouterIDs) != "\x32\x33\x3c" {
		t.Errorf("%+v", public)
	}
	for name, c := range map[string]struct {
		gateway string
		labels  map[string]string
		want    bool
	}{
		"both match":      {"gw-1", map[string]string{"rack": "a", "x": "y"}, true},
		"another name":    {"gw-3", map[string]string{"rack": "a"}, false},
		"another label":   {"gw-1", map[string]string{"rack": "b"}, false},
		"without a label": {"gw-1", nil, false},
	} {
		if got := public.Gateways.Selects(c.gateway, c.labels); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
	if !office.Gateways.Selects("any", nil) {
		t.Error("a pool without a selector doesn't take every gateway")
	}
}

func TestBadPoolsAreRefusedWithTheValueAndTheWayOut(t *testing.T) {
	for name, test := range map[string]struct{ old, now, says string }{
		"overlapping pools": {"198.51.100.1", "192.0.2.9",
			"address 192.0.2.9 is in pool office and in pool public: take it out of one of them"},
		"one router ID, two pools": {"announce: none", "routerIDs: [51]",
			"router ID 51 is in pool office and in pool public"},
		"a name twice": {"name: office", "name: public", `pool "public" is there twice`},
		"no name":      {"name: office", "name: ''", "the name must be"},
		"no addresses": {"addresses: [198.51.100.1]", "addresses: []",
			`pool "office": addresses: there is none`},
		"a bad range":          {"198.51.100.1", "198.51.100.1-x", "is no range of addresses"},
		"a bad exclusion":      {"exclude: [192.0.2.0]", "exclude: [x]", `exclude: "x" is no range`},
		"an unknown announcer": {"announce: vrrp", "announce: bgp", `announce "bgp": write one of vrrp, none`},
		"an unknown return path": {"returnPath: routed", "returnPath: x",
			`returnPath "x": write one of node, routed, gateway`},
		"no router IDs":             {"  announce: none\n", "", "routerIDs: there is none, and announce is vrrp"},
		"router ID 0":               {"[60,", "[0,", `routerIDs: "0": write numbers from 1 to 255`},
		"a router ID too many":      {"50-51", "250-256", `routerIDs: "250-256"`},
		"a range backwards":         {"50-51", "51-50", `routerIDs: "51-50"`},
		"a grace that is too short": {"10m", "1s", `releaseGrace "1s": write a time from 10s`},
		"half an interval": {"200ms", "15ms",
			`advertInterval "15ms": write a time from 10ms to 40.95s in steps of 10ms`},
		"a namespace without muxes": {"muxesPerNamespace: 20", "muxesPerNamespace: 0",
			"muxesPerNamespace 0: write a number from 1 to 10000"},
		"no capacity": {"maxCapacity: 4", "maxCapacity: 0", "maxCapacity 0: write a number from 1 to 1000"},
		"probes without a time": {"probeBackends: 2s", "probeBackends: often",
			`probeBackends "often": write a time from 1s to 1h`},
		"too many ranges": {"[198.51.100.1]", "[" + strings.Repeat("198.51.100.1, ", 500) + "]",
			"the pools have 502 ranges of addresses"},
		"an unknown field": {"announce: none", "anounce: none", `unknown field "anounce"`},
		"no pools":         {valid, "pools: []", "has no pool"},
		"no YAML":          {valid, "pools: {", "can't be read"},
	} {
		t.Run(name, func(t *testing.T) {
			if !strings.Contains(valid, test.old) {
				t.Fatalf("the valid file has no %s", test.old)
			}
			pools, err := config.Parse([]byte(strings.Replace(valid, test.old, test.now, 1)))
			if err == nil || !strings.Contains(err.Error(), test.says) {
				t.Errorf("got %+v, %v", pools, err)
			}
		})
	}
}

func FuzzParse(f *testing.F) {
	golden.Seeds(f)
	f.Add(valid)
	f.Add("pools: [{name: a, addresses: ['::/0'], routerIDs: ['1-255']}]")
	f.Add("pools: [{name: a, addresses: [1.1.1.1-1.1.1.0]}, {name: a}]")
	f.Fuzz(func(t *testing.T, text string) {
		pools, err := config.Parse([]byte(text))
		if err == nil && len(pools) == 0 {
			t.Error("neither pools nor an error")
		}
	})
}

// TestExampleOfTheDocsIsParsed reads the file of pools in docs/gateways.md.
func TestExampleOfTheDocsIsParsed(t *testing.T) {
	page, err := os.ReadFile("../../../../docs/gateways.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(page), "```yaml\npools:")
	example, _, found := strings.Cut(rest, "```")
	if !found {
		t.Fatal("the page has no file of pools")
	}
	pools, err := config.Parse([]byte("pools:" + example))
	if err != nil || len(pools) != 1 || len(pools[0].RouterIDs) != 2 || len(pools[0].Ranges) != 2 {
		t.Errorf("%+v: %v", pools, err)
	}
}
