package chart

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
)

func TestWebhookRequiresClientCertificatesIfACAIsSet(t *testing.T) {
	items := []corev1.KeyToPath{{Key: "ca.crt", Path: "ca.crt"}}
	for name, tc := range map[string]struct {
		flags  []string
		args   []string
		volume corev1.VolumeSource
	}{
		"by default": {},
		"after an upgrade that reuses values from before": {flags: []string{"--set-json=webhook.clientCA=null"}},
		"a ConfigMap": {
			flags: []string{"--set=webhook.clientCA.configMap=ours"},
			args:  []string{"--client-ca=/etc/svc-lb-mux/clients/ca.crt"},
			volume: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
				LocalObjectReference: corev1.LocalObjectReference{Name: "ours"}, Items: items}},
		},
		"a Secret and names": {
			flags:  []string{"--set=webhook.clientCA.secret=ours,webhook.clientCA.names={a,b}"},
			args:   []string{"--client-ca=/etc/svc-lb-mux/clients/ca.crt", "--client-names=a,b"},
			volume: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "ours", Items: items}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			spec := named[*appsv1.Deployment](t, render(t, tc.flags...), "svc-mux-webhook").Spec.Template.Spec
			var args []string
			for _, arg := range spec.Containers[0].Args {
				if strings.HasPrefix(arg, "--client-") {
					args = append(args, arg)
				}
			}
			if diff := cmp.Diff(tc.args, args); diff != "" {
				t.Errorf("the webhook's arguments (-want +got):\n%s", diff)
			}
			var volume corev1.VolumeSource
			if i := slices.IndexFunc(spec.Volumes, func(v corev1.Volume) bool { return v.Name == "clients" }); i >= 0 {
				volume = spec.Volumes[i].VolumeSource
			}
			if diff := cmp.Diff(tc.volume, volume); diff != "" {
				t.Errorf("the CA's volume (-want +got):\n%s", diff)
			}
		})
	}
}

func TestPolicyLimitsReviewsToNetworksIfSet(t *testing.T) {
	for name, tc := range map[string]struct {
		flags []string
		want  []networkingv1.NetworkPolicyPeer
	}{
		"by default": {},
		"from two networks": {
			flags: []string{
				`--set-json=networkPolicy.reviewsFrom=[{"ipBlock":{"cidr":"10.0.0.0/28"}},{"ipBlock":{"cidr":"10.0.1.0/28"}}]`},
			want: []networkingv1.NetworkPolicyPeer{
				{IPBlock: &networkingv1.IPBlock{CIDR: "10.0.0.0/28"}}, {IPBlock: &networkingv1.IPBlock{CIDR: "10.0.1.0/28"}},
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			rules := named[*networkingv1.NetworkPolicy](t, render(t, tc.flags...), "svc-mux-webhook").Spec.Ingress
			if len(rules) != 2 || rules[0].Ports[0].Port.String() != "reviews" {
				t.Fatalf("the policy has the rules %v", rules)
			}
			if diff := cmp.Diff(tc.want, rules[0].From); diff != "" {
				t.Errorf("the policy allows reviews from (-want +got):\n%s", diff)
			}
		})
	}
}
