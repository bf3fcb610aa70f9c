package validation

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

func hundredPorts(lang Language) *corev1.Service {
	return manyPorts(lang, 100)
}

func manyPorts(lang Language, count int) *corev1.Service {
	svc := &corev1.Service{Spec: corev1.ServiceSpec{
		Type: corev1.ServiceTypeLoadBalancer, LoadBalancerClass: ptr("svc-mux.nowake.ai/mux.infra"),
		AllocateLoadBalancerNodePorts: ptr(false),
	}}
	var requests []string
	for i := range count {
		name := fmt.Sprintf("port-%d", i)
		svc.Spec.Ports = append(svc.Spec.Ports, corev1.ServicePort{Name: name, Port: int32(1000 + i), Protocol: "TCP"})
		requests = append(requests, fmt.Sprintf("%s:%d", name, 30000+i))
	}
	svc.Annotations = map[string]string{
		lang.Keys().ExternalPorts:   strings.Join(requests, ","),
		lang.Keys().ChannelHostname: "app.example.com,www.example.com",
	}
	return svc
}

func BenchmarkParseChannel(b *testing.B) {
	lang := language(b)
	for _, count := range []int{1, 100, 10_000} {
		svc := manyPorts(lang, count)
		b.Run(fmt.Sprintf("%d ports", count), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, found := lang.ParseChannel(svc); len(found.Problems) > 0 {
					b.Fatal(found.Problems)
				}
			}
		})
	}
}

func BenchmarkParseMux(b *testing.B) {
	lang := language(b)
	k := lang.Keys()
	svc := bareMux(lang, map[string]string{
		k.PortRange: "20000-20099,21000", k.MaxPorts: "80", k.AllowedNamespaces: "team-*,infra",
		k.AllowedHostnames: "*.{namespace}.example.com", k.ReleaseGrace: "10m", k.Generation: "42",
	})
	svc.Spec.Ports = hundredPorts(lang).Spec.Ports
	b.ReportAllocs()
	for b.Loop() {
		if _, found := lang.ParseMux(svc); len(found.Problems) > 0 {
			b.Fatal(found.Problems)
		}
	}
}

func BenchmarkClassifyAStranger(b *testing.B) {
	lang := language(b)
	svc := &corev1.Service{Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeClusterIP}}
	svc.Annotations = map[string]string{"example.com/a": "b"}
	b.ReportAllocs()
	for b.Loop() {
		if lang.Classify(svc) != Stranger {
			b.Fatal("the Service isn't a stranger")
		}
	}
}

// BenchmarkHostile parses values of the largest size that Kubernetes allows: the time must grow only with their size.
func BenchmarkHostile(b *testing.B) {
	lang := language(b)
	k := lang.Keys()
	const twentyThousand, mostMeant = "twenty thousand ports with long names", "as many as are gone over for each mistake"
	longNamed := map[string]int{twentyThousand: 20000, mostMeant: maxMeant}
	alike := strings.Repeat("x", maxLabel-len("port-00000"))
	for name, annotations := range map[string]map[string]string{
		"twenty thousand unknown ports":      {k.ExternalPorts: sequence("x%d:1,", 20000)},
		"a port named twenty thousand times": {k.ExternalPorts: strings.Repeat("port-1:auto,", 20000)},
		"ten thousand names":                 {k.ChannelHostname: sequence("n%d.example.com,", 10000)},
		"ten thousand ranges":                {k.PortRange: sequence("%d,", 10000), k.Multiplexer: "true"},
		"ten thousand annotations":           unknownAnnotations(10000),
		twentyThousand:                       {k.ExternalPorts: sequence("pot--"+alike+"%05d:1,", 40)},
		mostMeant:                            {k.ExternalPorts: sequence("pot--"+alike+"%05d:1,", 40)},
	} {
		svc := hundredPorts(lang)
		if ports := longNamed[name]; ports > 0 {
			svc = manyPorts(lang, ports)
			for i := range svc.Spec.Ports {
				svc.Spec.Ports[i].Name = fmt.Sprintf("port-%s%05d", alike, i)
			}
		}
		svc.Annotations = annotations
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				lang.Check(svc)
			}
		})
	}
}

func sequence(format string, count int) string {
	var all strings.Builder
	for i := range count {
		fmt.Fprintf(&all, format, i+1)
	}
	return all.String()
}

func unknownAnnotations(count int) map[string]string {
	all := map[string]string{}
	for i := range count {
		all[fmt.Sprintf("%s/external-port-%d", DefaultPrefix, i)] = ""
	}
	return all
}
