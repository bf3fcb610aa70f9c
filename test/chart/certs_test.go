package chart

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// TestModesOfCertificates checks in each mode who makes the certificate, where the pods read it, and which CA the API
// server trusts.
func TestModesOfCertificates(t *testing.T) {
	const pem = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n"
	for name, tc := range map[string]struct {
		flags      []string
		secret, ca string
		injected   map[string]string
		ofOthers   []string // kinds and names
		told       string
	}{
		"cert-manager with the release's CA": {
			secret:   "svc-mux-webhook-tls",
			injected: map[string]string{"cert-manager.io/inject-ca-from": "infra/svc-mux-webhook"},
			ofOthers: []string{"Certificate svc-mux-webhook", "Certificate svc-mux-webhook-ca", "Issuer svc-mux-webhook-ca",
				"Issuer svc-mux-webhook-selfsigned"},
			told: "--certificates=svc-mux-webhook-ca,svc-mux-webhook",
		},
		"cert-manager with the user's issuer": {
			flags:    []string{"--set=certs.certManager.issuerRef.name=ours,certs.certManager.issuerRef.kind=ClusterIssuer"},
			secret:   "svc-mux-webhook-tls",
			injected: map[string]string{"cert-manager.io/inject-ca-from": "infra/svc-mux-webhook"},
			ofOthers: []string{"Certificate svc-mux-webhook"}, told: "--certificates=svc-mux-webhook",
		},
		"self-managed by the reconciler": {
			flags: []string{"--set=certs.mode=selfManaged"}, secret: "svc-mux-webhook-tls",
			told: "--self-managed-secret=svc-mux-webhook-tls",
		},
		"provided, with the CA as a value": {
			flags: []string{"--set=certs.mode=provided,certs.provided.secretName=ours",
				"--set-string=certs.provided.caBundle=" + pem},
			secret: "ours", ca: pem,
		},
		"provided, with the CA in a Secret": {
			flags: []string{
				"--set=certs.mode=provided,certs.provided.secretName=ours,certs.provided.injectCAFromSecret=infra/ours"},
			secret: "ours", injected: map[string]string{"cert-manager.io/inject-ca-from-secret": "infra/ours"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			objects := render(t, tc.flags...)
			trusts(t, objects, tc.ca, tc.injected)
			volume := named[*appsv1.Deployment](t, objects, "svc-mux-webhook").Spec.Template.Spec.Volumes[0].Secret
			if volume.SecretName != tc.secret || volume.Optional != nil {
				t.Errorf("the pods mount %v", volume)
			}
			var others []string
			for _, object := range all[*unstructured.Unstructured](objects) {
				others = append(others, object.GetKind()+" "+object.GetName())
			}
			slices.Sort(others)
			if !slices.Equal(others, tc.ofOthers) {
				t.Errorf("objects for cert-manager: %v, want %v", others, tc.ofOthers)
			}
			told := args(t, objects, "svc-mux")
			if tc.told != "" && !slices.Contains(told, tc.told) ||
				!slices.Contains(told, "--webhook-configuration=svc-mux.infra") {
				t.Errorf("the reconciler lacks the argument %q: %v", tc.told, told)
			}
		})
	}
}

// TestReconcilerReadsOnlyCertManagersOwnIssuers looks for the right to get an issuer of cert-manager's.
func TestReconcilerReadsOnlyCertManagersOwnIssuers(t *testing.T) {
	for name, tc := range map[string]struct {
		ref  string
		want []string
	}{
		"the release's CA": {"{}", []string{"issuers svc-mux-webhook-ca svc-mux-webhook-selfsigned"}},
		"an Issuer":        {`{"name":"ours"}`, []string{"issuers ours"}},
		"a ClusterIssuer": {`{"name":"ours","kind":"ClusterIssuer","group":"cert-manager.io"}`,
			[]string{"clusterissuers ours"}},
		"an external Issuer":        {`{"name":"ours","kind":"Issuer","group":"ejbca-issuer.keyfactor.com"}`, nil},
		"an external ClusterIssuer": {`{"name":"ours","kind":"ClusterIssuer","group":"ejbca-issuer.keyfactor.com"}`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			objects := render(t, "--set-json=certs.certManager.issuerRef="+tc.ref)
			rules := append(named[*rbacv1.Role](t, objects, "svc-mux-guard").Rules,
				named[*rbacv1.ClusterRole](t, objects, "svc-mux.infra-guard").Rules...)
			var got []string
			for _, rule := range rules {
				if strings.HasSuffix(rule.Resources[0], "issuers") {
					got = append(got, rule.Resources[0]+" "+strings.Join(rule.ResourceNames, " "))
				}
			}
			if !slices.Equal(got, tc.want) {
				t.Errorf("it may get %q, want %q", got, tc.want)
			}
		})
	}
}

func trusts(t *testing.T, objects []runtime.Object, ca string, injected map[string]string) {
	t.Helper()
	configuration := named[*admissionv1.ValidatingWebhookConfiguration](t, objects, "svc-mux.infra")
	for _, hook := range configuration.Webhooks {
		if string(hook.ClientConfig.CABundle) != ca {
			t.Errorf("%s trusts %q, want %q", hook.Name, hook.ClientConfig.CABundle, ca)
		}
	}
	for key, value := range injected {
		if configuration.Annotations[key] != value {
			t.Errorf("the configuration has the annotations %v, want %s: %s", configuration.Annotations, key, value)
		}
	}
	if len(configuration.Annotations) != len(injected) {
		t.Errorf("the configuration has the annotations %v, want only those that inject the CA", configuration.Annotations)
	}
}

// TestCAOutlivesItsCertificates checks that a renewed CA verifies certificates that were signed before: it keeps its
// key.
func TestCAOutlivesItsCertificates(t *testing.T) {
	objects := render(t)
	get := func(name string, path ...string) string {
		value, _, err := unstructured.NestedString(foreign(t, objects, "Certificate", name),
			append([]string{"spec"}, path...)...)
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
	if policy := get("svc-mux-webhook-ca", "privateKey", "rotationPolicy"); policy != "Never" {
		t.Errorf("the CA's key is rotated: %q, want Never", policy)
	}
	if ca, leaf := get("svc-mux-webhook-ca", "duration"), get("svc-mux-webhook", "duration"); ca != "87600h" ||
		leaf != "2160h" {
		t.Errorf("the CA lasts %s, the certificate %s", ca, leaf)
	}
	for name, want := range map[string]any{"svc-mux-webhook-ca": []any{"cert sign", "server auth"},
		"svc-mux-webhook": []any{"digital signature", "server auth"}} {
		if usages, _, _ := unstructured.NestedFieldNoCopy(foreign(t, objects, "Certificate", name), "spec",
			"usages"); !reflect.DeepEqual(usages, want) {
			t.Errorf("%s has the usages %v, want %v", name, usages, want)
		}
	}
	permitted := func(flags ...string) []string {
		ca := foreign(t, render(t, flags...), "Certificate", "svc-mux-webhook-ca")
		names, _, err := unstructured.NestedStringSlice(ca, "spec", "nameConstraints", "permitted", "dnsDomains")
		if err != nil {
			t.Fatal(err)
		}
		return names
	}
	if names := permitted(); !slices.Equal(names,
		[]string{"svc-mux-webhook.infra.svc", "svc-mux-webhook.infra.svc.cluster.local"}) {
		t.Errorf("the CA may sign for %q", names)
	}
	if names := permitted("--set=certs.certManager.nameConstraints=false"); names != nil {
		t.Errorf("without name constraints the CA may sign for %q", names)
	}
	if issuer := get("svc-mux-webhook", "issuerRef", "name"); issuer != "svc-mux-webhook-ca" {
		t.Errorf("the certificate's issuer is %s", issuer)
	}
}
