package certs

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"regexp"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nowake.ai/svc-lb-mux/test/cluster/cluster"
)

// asOlder removes usages and name constraints from the chart's Certificates, as in an older chart.
func asOlder(manifests string) string {
	return regexp.MustCompile(`(?m)^  (usages:.*|nameConstraints:(\n   .*)*)\n`).ReplaceAllString(manifests, "")
}

// testOlderCertManager upgrades, under load, a release whose CA has no name constraints. The CA is signed again with
// its own key, so no review is lost.
func testOlderCertManager(t *testing.T, w *world) {
	r := &release{w: w, name: "svc-mux-old", prefix: "old.example.com", port: "9447",
		set: []string{"certs.mode=certManager"}}
	older := asOlder(w.render(t, r.name, append(r.set, "api.prefix="+r.prefix), "certificates.yaml"))
	if regexp.MustCompile(`usages|dnsDomains`).MatchString(older) {
		t.Fatalf("the older chart has new fields:\n%s", older)
	}
	if _, err := w.TryKubectl(t.Context(), older, "apply", "--namespace", namespace, "-f", "-"); err != nil {
		t.Fatal(err)
	}
	r.install(t)
	cluster.Eventually(t, "bad channels are refused", r.refuses)
	if ca := r.authority(t); len(ca.PermittedDNSDomains) > 0 {
		t.Fatalf("the older CA has the name constraints %q", ca.PermittedDNSDomains)
	}
	begin, first := time.Now(), r.hook.files.NotAfter()
	l := r.underLoad(t)
	pause(t.Context(), time.Second) // expiry times have a resolution of one second
	r.upgrade(t, "certificates.yaml")
	cluster.Eventually(t, "the CA is constrained", func(context.Context) error { return r.constrained(t) })
	r.served(t, first) // cert-manager signs the certificate again for its new usages
	pause(t.Context(), mountLag)
	l.end(t, begin)
	cluster.Eventually(t, "bad channels are refused by the new certificate", r.refuses)
}

// authority returns the CA of cert-manager's Secret.
func (r *release) authority(t *testing.T) *x509.Certificate {
	t.Helper()
	secret, err := r.w.Client.CoreV1().Secrets(namespace).Get(t.Context(), r.webhook()+"-ca", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	block, _ := pem.Decode(secret.Data["tls.crt"])
	if block == nil {
		t.Fatal("the CA's Secret has no certificate")
	}
	cert, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	return cert
}

// constrained returns an error if the CA may sign too much.
func (r *release) constrained(t *testing.T) error {
	t.Helper()
	name, ca := r.webhook()+"."+namespace+".svc", r.authority(t)
	if want := []string{name, name + ".cluster.local"}; !slices.Equal(ca.PermittedDNSDomains, want) ||
		!ca.PermittedDNSDomainsCritical {
		return fmt.Errorf("the CA may sign for %q (critical: %v), want %q", ca.PermittedDNSDomains,
			ca.PermittedDNSDomainsCritical, want)
	}
	if !slices.Equal(ca.ExtKeyUsage, []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}) {
		return fmt.Errorf("the CA has the usages %v, want only server auth", ca.ExtKeyUsage)
	}
	return nil
}
