package certs

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"nowake.ai/svc-lb-mux/reconciler/run"
	"nowake.ai/svc-lb-mux/test/cluster/cluster"
)

func testCertManager(t *testing.T, w *world) {
	r := &release{w: w, name: "svc-mux-cm", prefix: "cm.example.com", port: "9443",
		set: []string{"certs.mode=certManager"}}
	r.install(t, "certificates.yaml")
	r.reconcile(t, func(p *run.Process) { p.Options.Certificates = r.webhook() + "-ca," + r.webhook() })
	r.awaitOnGuard(t)
	cluster.Eventually(t, "bad channels are refused", r.refuses)
	t.Run("the CA may sign only for the webhook", func(t *testing.T) {
		if err := r.constrained(t); err != nil {
			t.Error(err)
		}
	})
	t.Run("the leaf changes under load", func(t *testing.T) {
		begin := time.Now()
		l := r.underLoad(t)
		before := r.hook.files.NotAfter()
		pause(t.Context(), time.Second) // expiry times have a resolution of one second
		r.renew(t, r.webhook())
		r.served(t, before)
		pause(t.Context(), mountLag)
		l.end(t, begin)
	})
	t.Run("the CA changes under load, with the commands of the docs", func(t *testing.T) { r.rotatesByHand(t) })
	r.awaitPatience(t)
	t.Run("an emptied CA bundle is reported and restored", func(t *testing.T) {
		before, injector := r.eventsNow(t), w.Component("cert-manager-cainjector")
		must(t, injector.Freeze())
		t.Cleanup(func() { _ = injector.Thaw() })
		r.blank(t)
		r.awaitFault(t, "NoCABundle", before)
		must(t, injector.Thaw())
		r.awaitTold(t, "Normal AdmissionOnGuard", before)
		r.awaitOnGuard(t)
	})
	t.Run("a deleted Secret is reported and recreated", func(t *testing.T) {
		before := r.eventsNow(t)
		w.Kubectl(t, "-n", namespace, "delete", "secret", r.secret())
		r.awaitTold(t, "Warning SecretMissing", before)
		r.awaitTold(t, "Normal AdmissionOnGuard", before)
		r.awaitOnGuard(t)
	})
	t.Run("a missing Issuer is reported until it exists again", func(t *testing.T) { r.losesIssuer(t) })
	t.Run("a missing Certificate is reported", func(t *testing.T) {
		before := r.eventsNow(t)
		w.Kubectl(t, "-n", namespace, "delete", "certificate", r.webhook())
		r.awaitFault(t, "CertificateMissing", before)
	})
}

// losesIssuer deletes the Issuer, and causes a fault that only an Issuer can repair.
func (r *release) losesIssuer(t *testing.T) {
	before := r.eventsNow(t)
	issuer := r.w.Kubectl(t, "-n", namespace, "get", "issuer", r.webhook()+"-ca", "-o", "yaml")
	r.w.Kubectl(t, "-n", namespace, "delete", "issuer", r.webhook()+"-ca")
	r.awaitFault(t, "IssuerMissing", before)
	r.w.Kubectl(t, "-n", namespace, "patch", "certificate", r.webhook(), "--type=json",
		// a name that the CA may sign
		fmt.Sprintf(`--patch=[{"op":"add","path":"/spec/dnsNames/-","value":"another.%s.%s.svc"}]`, r.webhook(), namespace))
	r.awaitFault(t, "CertificateNotReady", before)
	r.w.Kubectl(t, "-n", namespace, "delete", "secret", r.secret())
	r.awaitFault(t, "SecretMissing", before)
	_, text, _ := r.probe(t.Context(), "/readyz")
	t.Logf("/readyz returns:\n%s", text)
	if _, err := r.w.TryKubectl(t.Context(), issuer, "apply", "-f", "-"); err != nil {
		t.Fatal(err)
	}
	r.awaitTold(t, "Normal AdmissionOnGuard", before)
	r.awaitOnGuard(t)
}

// renew asks cert-manager for a new certificate, as `cmctl renew` does.
func (r *release) renew(t *testing.T, certificate string) {
	t.Helper()
	patch := fmt.Sprintf(
		`[{"op":"add","path":"/status/conditions/-","value":{"type":"Issuing","status":"True","reason":"ManuallyTriggered",`+
			`"message":"renewed by hand","lastTransitionTime":%q}}]`, time.Now().UTC().Format(time.RFC3339))
	r.w.Kubectl(t, "-n", namespace, "patch", "certificate", certificate, "--subresource=status", "--type=json",
		"--patch="+patch)
}

// rotatesByHand runs the commands of docs/certificates.md with shorter waits: no kubelet delays the volume here.
func (r *release) rotatesByHand(t *testing.T) {
	script := documented(t)
	begin, first := time.Now(), r.bundle(t)
	l := r.underLoad(t)
	out, err := r.w.Run(t.Context(),
		cluster.Program{Args: []string{"/bin/bash", "-euo", "pipefail", "-c", script}, Env: []string{
			"NAMESPACE=" + namespace, "RELEASE=" + r.name, "APISERVERS=3", "KUBELETS=8",
		}})
	if err != nil {
		t.Fatalf("%v\n%s", err, out.Stderr)
	}
	cluster.Eventually(t, "the new authority alone is trusted", func(context.Context) error {
		if now := r.bundle(t); strings.Contains(now, first) || strings.Count(now, "BEGIN") != 1 {
			return fmt.Errorf("%d CAs are trusted", strings.Count(now, "BEGIN"))
		}
		return nil
	})
	pause(t.Context(), mountLag)
	l.end(t, begin)
	r.awaitOnGuard(t)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
