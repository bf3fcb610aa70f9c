package doctor

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"math/big"
	"slices"
	"testing"
	"time"

	"nowake.ai/svc-lb-mux/cmd/svcmux/look/looktest"
)

// TestExpiryIsTheReconcilers has the cases of package certs, which svcmux doesn't import.
func TestExpiryIsTheReconcilers(t *testing.T) {
	const day = 24 * time.Hour
	for name, tc := range map[string]struct {
		life, left time.Duration // life is 0 if it isn't known
		want       State
		age        string
	}{
		"a new certificate":                     {90 * day, 90 * day, OK, "is valid for 90d"},
		"due for renewal":                       {90 * day, 30 * day, OK, "is valid for 30d"},
		"a week before the end":                 {90 * day, 7 * day, OK, "is valid for 7d"},
		"less than a week before the end":       {90 * day, 6 * day, Warning, "expires in 6d"},
		"ten years, a month before the end":     {3650 * day, 30 * day, OK, "is valid for 30d"},
		"a day, due for renewal":                {day, 8 * time.Hour, OK, "is valid for 8h"},
		"a day, with a quarter left":            {day, 6 * time.Hour, OK, "is valid for 6h"},
		"a day, with less than a quarter left":  {day, 5 * time.Hour, Warning, "expires in 5h"},
		"after the end":                         {90 * day, -2 * day, Failure, "expired 2d ago"},
		"without a beginning, a month":          {0, 30 * day, OK, "is valid for 30d"},
		"without a beginning, less than a week": {0, 18 * time.Hour, Warning, "expires in 18h"},
	} {
		t.Run(name, func(t *testing.T) {
			end := looktest.Now().Add(tc.left)
			status := fmt.Sprintf("notAfter: %q", end.Format(time.RFC3339))
			if tc.life > 0 {
				status += fmt.Sprintf(", notBefore: %q", end.Add(-tc.life).Format(time.RFC3339))
			}
			c := looktest.Load(t, looktest.Worlds+"/installed.yaml")
			c.Apply("kind: Certificate\nmetadata: {namespace: svc-mux, name: svc-mux-webhook}\nstatus: {" + status + "}\n")
			want := map[string]State{"certificate Certificate svc-mux/svc-mux-webhook " + tc.age: tc.want}
			if tc.life > 0 {
				const service = "{namespace: svc-mux, name: svc-mux-webhook}"
				c.Apply("kind: ValidatingWebhookConfiguration\nmetadata: {name: svc-mux.svc-mux}\nwebhooks:\n" +
					"- {name: change.services.svc-mux.nowake.ai, failurePolicy: Fail, clientConfig: {service: " + service +
					", caBundle: " + bundle(t, end.Add(-tc.life), end) + "}}\n")
				want["authority the CA in ValidatingWebhookConfiguration svc-mux.svc-mux "+tc.age] = tc.want
			}
			kubeconfig, _ := c.Serve(t)
			got := reportOf(t, looktest.RunAt(t, command, kubeconfig, "", "-o", "json").Out)
			for text, state := range want {
				if !slices.ContainsFunc(got.Checks, func(c Check) bool {
					return c.Name+" "+c.Message == text && c.State == state
				}) {
					t.Errorf("%q isn't %s: %+v", text, state, got.Checks)
				}
			}
		})
	}
}

// bundle returns a CA certificate as a caBundle.
func bundle(t *testing.T, begin, end time.Time) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: begin, NotAfter: end, IsCA: true,
		BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	if err := pem.Encode(&text, &pem.Block{Type: "CERTIFICATE", Bytes: der}); err != nil {
		t.Fatal(err)
	}
	return base64.StdEncoding.EncodeToString(text.Bytes())
}
