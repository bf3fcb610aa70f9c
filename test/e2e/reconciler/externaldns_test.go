package reconciler

import (
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"nowake.ai/svc-lb-mux/test/cluster/binaries"
	"nowake.ai/svc-lb-mux/test/cluster/cluster"
	"nowake.ai/svc-lb-mux/test/long"
)

// dnsRecord is a DNS record that external-dns wants, as its endpoint.Endpoint.
type dnsRecord struct {
	DNSName string   `json:"dnsName"`
	Targets []string `json:"targets"`
}

// TestBothReleasesOfExternalDNSReadAMux runs the sources of external-dns of the last release with the former default
// prefix of annotations, and of the first with the current one. Neither gets a flag for the prefix.
func TestBothReleasesOfExternalDNSReadAMux(t *testing.T) {
	long.Only(t, `the case "DNS names of channels are added to the mux" of TestBehaviour reads both annotations`)
	t.Parallel()
	bin, err := cluster.Binaries(t.Context(), binaries.ExternalDNS(), binaries.FormerExternalDNS())
	if err != nil {
		t.Fatal(err)
	}
	s := cases{newScene(t)}
	mux := s.mux(t, "names", annotated(dnsNames, "former.example.com"), annotated(newNames, "current.example.com"))
	web := s.channel(t, "names-a", "web", mux, annotated("external-dns-hostname", "b.example.com,a.example.com"))
	s.awaitServed(t, web, "http:80->20000")
	s.awaitAnnotation(t, mux, dnsNames, "a.example.com,b.example.com,former.example.com")
	address := s.get(t, mux).Status.LoadBalancer.Ingress[0].IP
	for _, tc := range []struct {
		product binaries.Product
		owns    string // by the mux's owner
	}{
		{product: binaries.FormerExternalDNS(), owns: "former.example.com"},
		{product: binaries.ExternalDNS(), owns: "current.example.com"},
	} {
		t.Run(tc.product.String(), func(t *testing.T) {
			out, err := s.Run(t.Context(),
				cluster.Program{Args: []string{filepath.Join(bin[tc.product.Name], "externaldns"), "--namespace=" + mux.Namespace}})
			if err != nil {
				t.Fatal(err)
			}
			var records []dnsRecord
			if err := json.Unmarshal([]byte(out.Stdout), &records); err != nil {
				t.Fatalf("%v\n%s%s", err, out.Stdout, out.Stderr)
			}
			got := map[string][]string{}
			for _, r := range records {
				got[r.DNSName] = r.Targets
			}
			want := map[string][]string{"a.example.com": {address}, "b.example.com": {address}, tc.owns: {address}}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}
