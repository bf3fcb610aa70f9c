package process

import (
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func pools(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "pools.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestMistakesAreNamedWithTheirFlags(t *testing.T) {
	good := pools(t, "pools: [{name: p, addresses: [192.0.2.0/24], routerIDs: [7]}]")
	overlap := pools(t, "pools: [{name: p, addresses: [192.0.2.0/24], routerIDs: [7]}, {name: q, addresses: "+
		"[192.0.2.1], routerIDs: [8]}]")
	for name, test := range map[string]struct {
		args []string
		says string
	}{
		"everything that is needed":     {[]string{"--pools=" + good}, ""},
		"no pools":                      {nil, "--pools is empty: name the file"},
		"a missing file":                {[]string{"--pools=/not/there"}, `--pools "/not/there": open`},
		"overlapping pools":             {[]string{"--pools=" + overlap}, "address 192.0.2.1 is in pool p and in pool q"},
		"a bad prefix":                  {[]string{"--pools=" + good, "--api-prefix=A"}, "--api-prefix (API_PREFIX): prefix"},
		"a bad namespace":               {[]string{"--pools=" + good, "--mux-namespaces=a,B"}, "--mux-namespaces: "},
		"a bad level":                   {[]string{"--pools=" + good, "--log-level=loud"}, `--log-level "loud"`},
		"a bad address":                 {[]string{"--pools=" + good, "--probe-address=x"}, `--probe-address "x"`},
		"no writes":                     {[]string{"--pools=" + good, "--writes=0"}, "--writes 0: write 1 or more"},
		"a deadline beyond the lease's": {[]string{"--pools=" + good, "--renew-deadline=20s"}, "--renew-deadline 20s"},
		"a bad lease":                   {[]string{"--pools=" + good, "--lease-name=A"}, `--lease-name "A"`},
		"no API server":                 {[]string{"--pools=" + good, "--kubeconfig="}, "--kubeconfig (KUBECONFIG) is empty"},
	} {
		t.Run(name, func(t *testing.T) {
			o := DefaultOptions(func(string) string { return "" })
			o.Kubeconfig = "x"
			set := flag.NewFlagSet("controller", flag.ContinueOnError)
			set.SetOutput(io.Discard)
			o.AddFlags(set)
			if err := set.Parse(test.args); err != nil {
				t.Fatal(err)
			}
			err := o.Check()
			if test.says == "" && err != nil || test.says != "" && (err == nil || !strings.Contains(err.Error(), test.says)) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestCacheIsLimitedToWhatIsRead(t *testing.T) {
	o := DefaultOptions(func(string) string { return "" })
	o.MuxNamespaces = "a, b"
	caching, err := cacheOptions(&o)
	if err != nil || len(caching.ByObject) != 3 {
		t.Fatalf("%+v, %v", caching, err)
	}
	for object, by := range caching.ByObject {
		if by.Transform == nil || len(by.Namespaces) == 0 {
			t.Errorf("%T: %+v", object, by)
		}
	}
}
