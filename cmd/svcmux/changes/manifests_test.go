package changes

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"
)

// files are manifests of channels, and sometimes of the mux.
func files(r *rapid.T, most int) []*corev1.Service {
	var all []*corev1.Service
	for range rapid.IntRange(1, most).Draw(r, "files") {
		if rapid.IntRange(0, 4).Draw(r, "what") == 0 {
			all = append(all, muxManifest(r))
			continue
		}
		all = append(all, channelManifest(r))
	}
	return all
}

func muxManifest(r *rapid.T) *corev1.Service {
	svc := &corev1.Service{}
	svc.Namespace, svc.Name = "svc-mux", "mux"
	svc.Annotations = map[string]string{under + "multiplexer": "true", under + "provider": "none"}
	for _, setting := range [...]struct {
		name   string
		values []string
	}{
		{"port-range", []string{"20000-20002", "20001-20004"}},
		{"max-ports", []string{"", "", "3", "5"}},
		{"release-grace", []string{"", "10m", "20m"}},
		{"allowed-namespaces", []string{"", "", "", "a"}},
		{"explicit-range", []string{"", "", "", "1-443"}},
	} {
		if value := rapid.SampledFrom(setting.values).Draw(r, setting.name); value != "" {
			svc.Annotations[under+setting.name] = value
		}
	}
	svc.Spec = corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer,
		Ports: []corev1.ServicePort{{Name: "own", Port: 9, Protocol: "TCP"}}}
	return svc
}

func channelManifest(r *rapid.T) *corev1.Service {
	svc := &corev1.Service{}
	svc.Namespace = rapid.SampledFrom([]string{"a", "b"}).Draw(r, "namespace")
	svc.Name = rapid.SampledFrom([]string{"k", "l", "m"}).Draw(r, "name")
	svc.Annotations = map[string]string{}
	var asked []string
	for i, name := range []string{"one", "two", "three"}[:rapid.IntRange(1, 3).Draw(r, "ports")] {
		number := rapid.SampledFrom([]int32{80, 443, 20001}).Draw(r, "port") + int32(i)*7
		svc.Spec.Ports = append(svc.Spec.Ports, corev1.ServicePort{Name: name, Port: number, Protocol: "TCP"})
		if as := rapid.SampledFrom([]string{"", "auto", "auto", "80", "444", "20002"}).Draw(r, "as"); as != "" {
			asked = append(asked, name+":"+as)
		}
	}
	if rapid.IntRange(0, 5).Draw(r, "drop") == 0 {
		svc.Spec.Type = corev1.ServiceTypeClusterIP
		return svc
	}
	svc.Spec.Type = corev1.ServiceTypeLoadBalancer
	class := under + "mux"
	svc.Spec.LoadBalancerClass = &class
	if len(asked) > 0 {
		svc.Annotations[under+"external-ports"] = strings.Join(asked, ",")
	}
	if rapid.IntRange(0, 7).Draw(r, "disabled") == 0 {
		svc.Annotations[under+"disabled"] = "true"
	}
	return svc
}
