package flags

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestExternalDNSPrefixes(t *testing.T) {
	for name, c := range map[string]struct {
		value, key string
		read       bool
	}{
		"by default":                          {"", "external-dns.alpha.kubernetes.io/hostname", true},
		"by default, newer prefix":            {"", "external-dns.kubernetes.io/hostname", true},
		"another prefix":                      {"dns.example.com", "dns.example.com/hostname", true},
		"another prefix replaces the default": {"dns.example.com", "external-dns.alpha.kubernetes.io/hostname", false},
		"two prefixes with slashes":           {"a.example.com/, b.example.com/,", "b.example.com/internal-hostname", true},
	} {
		t.Run(name, func(t *testing.T) {
			language, err := Language("x.io", "infra", c.value)
			if err != nil {
				t.Fatal(err)
			}
			svc := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{c.key: "www.example.com"}}}
			channel, _ := language.ParseChannel(svc)
			if (len(channel.Direct) == 1) != c.read {
				t.Errorf("got %v", channel.Direct)
			}
		})
	}
	if err := ExternalDNS("--external-dns-prefixes", "a.example.com,Dns_1"); err == nil ||
		!strings.Contains(err.Error(), `--external-dns-prefixes: prefix "Dns_1"`) {
		t.Errorf("got %v", err)
	}
}
