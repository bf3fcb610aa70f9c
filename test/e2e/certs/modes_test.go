package certs

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nowake.ai/svc-lb-mux/reconciler/run"
	"nowake.ai/svc-lb-mux/test/cluster/cluster"
)

func containsAll(text string, parts ...string) bool {
	for _, part := range parts {
		if !strings.Contains(text, part) {
			return false
		}
	}
	return true
}

// served waits until the webhook serves another certificate than before, and returns its expiry.
func (r *release) served(t *testing.T, before time.Time) time.Time {
	t.Helper()
	var now time.Time
	cluster.Eventually(t, "another certificate is served", func(context.Context) error {
		if now = r.hook.files.NotAfter(); !now.After(before) {
			return fmt.Errorf("the webhook still serves the certificate until %s", now)
		}
		return nil
	})
	return now
}

func testSelfManaged(t *testing.T, w *world) {
	r := &release{w: w, name: "svc-mux-self", prefix: "self.example.com", port: "9444",
		set: []string{"certs.mode=selfManaged"}}
	r.install(t)
	edit := func(p *run.Process) {
		p.Options.SelfManagedSecret = r.secret()
		p.SelfManaged = shortLives()
	}
	stop := r.reconcile(t, edit)
	r.awaitOnGuard(t)
	cluster.Eventually(t, "bad channels are refused", r.refuses)

	t.Run("leaf and CA change under load", func(t *testing.T) { r.rotatesByItself(t) })
	stop()
	stop = r.reconcile(t, func(p *run.Process) { edit(p); p.SelfManaged = longLives() })
	r.awaitOnGuard(t)
	r.awaitPatience(t)
	t.Run("an emptied CA bundle is restored", func(t *testing.T) {
		before := r.eventsNow(t)
		r.blank(t)
		r.awaitTold(t, "Warning NoCABundle", before)
		r.awaitTold(t, "Normal AdmissionOnGuard", before)
		r.awaitOnGuard(t)
	})
	t.Run("a deleted Secret is recreated, and no review fails", func(t *testing.T) {
		before, begin := r.eventsNow(t), time.Now()
		l := r.underLoad(t)
		w.Kubectl(t, "-n", namespace, "delete", "secret", r.secret())
		r.awaitFault(t, "SecretMissing", before)
		r.awaitTold(t, "Normal AdmissionOnGuard", before)
		r.awaitOnGuard(t)
		pause(t.Context(), 2*mountLag)
		l.end(t, begin)
	})
	t.Run("the Secret is deleted with its configuration", func(t *testing.T) {
		stop()
		w.Kubectl(t, "delete", "validatingwebhookconfiguration", r.configuration())
		cluster.Eventually(t, "the Secret is gone", func(ctx context.Context) error {
			_, err := w.Client.CoreV1().Secrets(namespace).Get(ctx, r.secret(), metav1.GetOptions{})
			if err == nil {
				return fmt.Errorf("the Secret still exists")
			}
			return nil
		})
	})
}

// rotatesByItself waits until the leaf was renewed, the CA replaced, and the old CA removed from the bundle.
func (r *release) rotatesByItself(t *testing.T) {
	l := r.underLoad(t)
	begin, first := time.Now(), r.bundle(t)
	notAfter := r.served(t, r.hook.files.NotAfter())
	t.Logf("another leaf after %s", time.Since(begin).Round(time.Second))
	r.served(t, notAfter)
	cluster.Eventually(t, "the first authority has gone", func(context.Context) error {
		if now := r.bundle(t); strings.Contains(now, first) || strings.Count(now, "BEGIN") != 1 {
			return fmt.Errorf("%d CAs are trusted", strings.Count(now, "BEGIN"))
		}
		return nil
	})
	pause(t.Context(), 2*mountLag)
	l.end(t, begin)
}

func (r *release) bundle(t *testing.T) string {
	t.Helper()
	configuration, err := r.w.Client.AdmissionregistrationV1().ValidatingWebhookConfigurations().Get(t.Context(),
		r.configuration(),
		metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return string(configuration.Webhooks[0].ClientConfig.CABundle)
}

// blank empties the CA bundle of the first entry, as an apply of the configuration without a bundle does.
func (r *release) blank(t *testing.T) {
	t.Helper()
	r.w.Kubectl(t, "patch", "validatingwebhookconfiguration", r.configuration(), "--type=json",
		`--patch=[{"op":"remove","path":"/webhooks/0/clientConfig/caBundle"}]`)
}

// awaitPatience waits until the guard reports faults: it reports none during the first seconds, as in an install.
func (r *release) awaitPatience(t *testing.T) { pause(t.Context(), 16*time.Second) }

// testHandover changes the mode of a release as `helm upgrade` does: it creates new objects first, and then deletes the
// old ones. cert-manager keeps the Secret, which the webhook's pods still mount.
func testHandover(t *testing.T, w *world) {
	r := &release{w: w, name: "svc-mux-over", prefix: "over.example.com", port: "9446",
		set: []string{"certs.mode=certManager"}}
	r.install(t, "certificates.yaml")
	stop := r.reconcile(t, func(p *run.Process) { p.Options.Certificates = r.webhook() + "-ca," + r.webhook() })
	r.awaitOnGuard(t)
	cluster.Eventually(t, "bad channels are refused", r.refuses)

	begin, l := time.Now(), r.underLoad(t)
	first, served := r.bundle(t), r.hook.files.NotAfter()
	r.set = []string{"certs.mode=selfManaged"}
	r.upgrade(t)
	for _, kind := range []string{"certificate", "issuer"} {
		w.Kubectl(t, "-n", namespace, "delete", kind, "--selector=app.kubernetes.io/instance="+r.name)
	}
	stop()
	r.reconcile(t, func(p *run.Process) { p.Options.SelfManagedSecret, p.SelfManaged = r.secret(), shortLives() })
	cluster.Eventually(t, "an authority of the reconciler's own signs what is served", func(context.Context) error {
		if now := r.bundle(t); r.hook.files.NotAfter().Equal(served) || strings.Contains(now, first) {
			return fmt.Errorf("%d CAs are trusted", strings.Count(now, "BEGIN"))
		}
		return nil
	})
	r.awaitOnGuard(t)
	pause(t.Context(), 2*mountLag)
	l.end(t, begin)
}

func testProvided(t *testing.T, w *world) {
	r := &release{w: w, name: "svc-mux-prov", prefix: "provided.example.com", port: "9445"}
	owner := newOwner(t)
	r.set = []string{"certs.mode=provided", "certs.provided.secretName=svc-mux-prov-own",
		"certs.provided.caBundle=" + strings.ReplaceAll(owner.ca, ",", `\,`)}
	r.provide(t, owner.pair(t, r, time.Hour))
	r.install(t)
	r.reconcile(t, func(*run.Process) {})
	r.awaitOnGuard(t)
	cluster.Eventually(t, "bad channels are refused", r.refuses)
	t.Run("the leaf changes under load", func(t *testing.T) {
		begin := time.Now()
		l := r.underLoad(t)
		before := r.hook.files.NotAfter()
		r.provide(t, owner.pair(t, r, 2*time.Hour))
		r.served(t, before)
		pause(t.Context(), 2*time.Second)
		l.end(t, begin)
	})
	r.awaitPatience(t)
	whole := t // the restarted webhook outlives the subtest
	t.Run("an expiring certificate is reported, and a new one clears the fault", func(t *testing.T) {
		before := r.eventsNow(t)
		r.hook.stop()
		r.provide(t, owner.pair(t, r, 8*time.Second))
		r.serve(whole)
		r.awaitFault(t, "CertificateExpired", before)
		if err := r.hook.files.Ready(); err == nil || !strings.Contains(err.Error(), "expired") {
			t.Errorf("the webhook's /readyz: %v", err)
		}
		r.provide(t, owner.pair(t, r, time.Hour))
		r.awaitTold(t, "Normal AdmissionOnGuard", before)
		r.awaitOnGuard(t)
		cluster.Eventually(t, "bad channels are refused", r.refuses)
	})
	t.Run("a certificate of another CA is reported", func(t *testing.T) {
		before := r.eventsNow(t)
		r.provide(t, newOwner(t).pair(t, r, 3*time.Hour))
		r.awaitFault(t, "NotTrusted", before)
		r.provide(t, owner.pair(t, r, 4*time.Hour))
		r.awaitOnGuard(t)
	})
	t.Run("a webhook that doesn't answer is reported", func(t *testing.T) {
		before := r.eventsNow(t)
		r.hook.stop()
		r.awaitFault(t, "NotReachable", before)
		w.Kubectl(t, "-n", namespace, "delete", "service", r.webhook())
		r.awaitFault(t, "ServiceMissing", before)
		w.Kubectl(t, "delete", "validatingwebhookconfiguration", r.configuration())
		r.awaitFault(t, "ConfigurationMissing", before)
	})
}

// provide writes the Secret as its owner.
func (r *release) provide(t *testing.T, data map[string][]byte) {
	t.Helper()
	secrets := r.w.Client.CoreV1().Secrets(namespace)
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: r.secret()}, Type: corev1.SecretTypeTLS, Data: data}
	_, err := secrets.Update(t.Context(), secret, metav1.UpdateOptions{})
	if err != nil {
		_, err = secrets.Create(t.Context(), secret, metav1.CreateOptions{})
	}
	if err != nil {
		t.Fatal(err)
	}
}
