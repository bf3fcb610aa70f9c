package validation

import (
	"testing"
	"unicode"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"

	"nowake.ai/svc-lb-mux/internal/testkit/golden"
)

// FuzzService reviews whole Services from files, which no API server has validated.
func FuzzService(f *testing.F) {
	golden.Seeds(f)
	f.Add("svc-mux.nowake.ai/mux", "true", "http:8080", "a.b", "20000-20099", "http", int32(80), "TCP", "ClusterIP")
	f.Add("svc-mux.nowake.ai", "yes", "\x00", "\u202e", "0x50", "", int32(-1), "tcp", "")
	f.Add("gateway.svc-mux.nowake.ai/rack", "true", "192.0.2.1,2001:db8::1", "a", "254", "http", int32(80), "TCP",
		"LoadBalancer")
	f.Add("svc-mux.nowake.ai/A.b.c", "false", "a:1,a:1", "*", "9-1", "\x1b[31m", int32(70000), "\xff", "LoadBalancer")
	lang, err := New(DefaultPrefix, "svc-mux")
	if err != nil {
		f.Fatal(err)
	}
	k := lang.Keys()
	f.Fuzz(func(
		t *testing.T, class, multiplexer, requests, names, setting, port string, number int32, protocol, kind string,
	) {
		svc := &corev1.Service{Spec: corev1.ServiceSpec{
			Type: corev1.ServiceType(kind), LoadBalancerClass: &class, LoadBalancerIP: setting,
			Selector: map[string]string{names: setting}, LoadBalancerSourceRanges: []string{setting, names},
			SessionAffinity: corev1.ServiceAffinity(kind),
			Ports: []corev1.ServicePort{
				{Name: port, Port: number, Protocol: corev1.Protocol(protocol)}, {Name: port, Port: number},
			},
		}}
		svc.Namespace, svc.Name = names, port
		svc.Annotations = map[string]string{
			k.Multiplexer: multiplexer, k.ExternalPorts: requests, k.ChannelHostname: names, k.Ports: requests,
			k.PortRange: setting, k.ExplicitRange: requests, k.MaxPorts: setting, k.AllowedNamespaces: names,
			k.AllowedHostnames: names, k.AllowedProtocols: protocol, k.AllocationConfigMap: names,
			k.ReleaseGrace: setting, k.Placeholder: setting, k.Provider: setting, k.Disabled: multiplexer, k.Generation: setting,
			k.Address: requests, k.Gateways: setting, k.AggregatedExternalDNS: names, DefaultPrefix + "/" + names: setting,
			"service.beta.kubernetes.io/" + names: setting, FormerHostname: names, FormerCloudflareProxied: setting,
		}
		svc.Labels = map[string]string{DefaultPrefix + "/" + names: setting, "svc-mux.nowake.io/" + port: setting}
		found := Findings{Warnings: lang.Typos(svc)}
		_, asMux := lang.ParseMux(svc)
		_, asChannel := lang.ParseChannel(svc)
		for _, part := range []Findings{asMux, asChannel, lang.Check(svc)} {
			found.Problems = append(found.Problems, part.Problems...)
			found.Warnings = append(found.Warnings, part.Warnings...)
		}
		for _, p := range append(found.Problems, found.Warnings...) {
			if p.Reason == "" || p.Field == "" || len(p.Message) > 2000 || !utf8.ValidString(p.Message) {
				t.Fatalf("incomplete: %+v", p)
			}
			for _, r := range p.Message {
				if !unicode.IsPrint(r) {
					t.Fatalf("unprintable %q in %q", r, p.Message)
				}
			}
		}
		if verdict := lang.Review(svc, svc); len(verdict.Denied) > 0 {
			t.Fatalf("the ratchet denies old problems: %v", verdict.Denied)
		}
	})
}
