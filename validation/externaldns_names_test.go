package validation

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const usual, newer = "external-dns.alpha.kubernetes.io/", "external-dns.kubernetes.io/"

func TestNamesThatExternalDNSReadsFromAChannel(t *testing.T) {
	many := ""
	for i := range MaxHostnames + 1 {
		many += fmt.Sprintf("n%02d.example.com,", i)
	}
	for name, c := range map[string]struct {
		annotations map[string]string
		allowed     string
		forbidden   []DirectName
	}{
		"an allowed name": {map[string]string{usual + "hostname": "App.team.example.com."}, "*.{namespace}.example.com", nil},
		"another name": {map[string]string{usual + "hostname": "www.bank.example.com"}, "*.{namespace}.example.com",
			[]DirectName{{usual + "hostname", "www.bank.example.com"}}},
		"a name under the newer prefix": {map[string]string{newer + "hostname": "www.bank.example.com"},
			"*.{namespace}.example.com",
			[]DirectName{{newer + "hostname", "www.bank.example.com"}}},
		"an internal name": {map[string]string{usual + "internal-hostname": "a.team.example.com, db.bank.example.com"},
			"*.{namespace}.example.com", []DirectName{{usual + "internal-hostname", "db.bank.example.com"}}},
		"a wildcard in a shared domain": {map[string]string{usual + "hostname": "*.example.com"}, "*.example.com",
			[]DirectName{{usual + "hostname", "*.example.com"}}},
		"a target isn't judged": {map[string]string{usual + "target": "www.bank.example.com"}, "*.{namespace}.example.com",
			nil},
		"an invalid DNS name": {map[string]string{usual + "hostname": "www\u3002bank\u3002com"}, "*.{namespace}.example.com",
			[]DirectName{{usual + "hostname", `"www。bank。com"`}}},
		"a star allows all": {map[string]string{usual + "hostname": many + "b\u00fccher.example"}, "*", nil},
		"more names than are read": {map[string]string{usual + "hostname": many}, "*.example.com",
			[]DirectName{{usual + "hostname", ""}}},
	} {
		t.Run(name, func(t *testing.T) {
			lang := language(t)
			svc := hundredPorts(lang)
			svc.Annotations = c.annotations
			channel, found := lang.ParseChannel(svc)
			if len(found.Problems) > 0 {
				t.Fatal(found.Problems)
			}
			n, _ := noteOf(c.allowed)
			forbidden := parseHostnamePatterns(n).In("team").Forbids(channel.Direct)
			if diff := cmp.Diff(c.forbidden, forbidden); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if kept, _ := lang.ParseChannel(svc); len(lang.Heeded(c.annotations)) == 0 && len(kept.Direct) > 0 {
				t.Error("the cache drops a judged annotation")
			}
		})
	}
}

func TestOtherPrefixesOfExternalDNS(t *testing.T) {
	lang, err := language(t).WithExternalDNS([]string{"dns.example.com/", "dns.example.net"})
	if err != nil {
		t.Fatal(err)
	}
	svc := hundredPorts(lang)
	svc.Annotations = map[string]string{
		"dns.example.com/hostname": "a.example.com", "dns.example.net/internal-hostname": "b.example.com",
		usual + "hostname": "c.example.com",
	}
	channel, _ := lang.ParseChannel(svc)
	want := []DirectName{{"dns.example.com/hostname", "a.example.com"},
		{"dns.example.net/internal-hostname", "b.example.com"}}
	if diff := cmp.Diff(want, channel.Direct); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if _, err := lang.WithExternalDNS([]string{"Dns_1"}); err == nil || !strings.Contains(err.Error(), `"Dns_1"`) {
		t.Errorf("an invalid prefix: %v", err)
	}
}
