package admission

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func dry() metav1.CreateOptions { return metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}} }

func service(name string, change func(svc *corev1.Service)) *corev1.Service {
	svc := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: team},
		Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: "http", Port: 80}}},
	}
	change(svc)
	return svc
}

func withClass(name, class string) *corev1.Service {
	return service(name, func(svc *corev1.Service) {
		svc.Spec.Type = corev1.ServiceTypeLoadBalancer
		svc.Spec.LoadBalancerClass = &class
		svc.Spec.AllocateLoadBalancerNodePorts = new(bool)
	})
}

func aChannel(name string) *corev1.Service { return withClass(name, prefix+"/mux") }

func aMux(name string) *corev1.Service {
	return service(name, func(svc *corev1.Service) {
		svc.Spec.Type = corev1.ServiceTypeLoadBalancer
		svc.Spec.AllocateLoadBalancerNodePorts = new(bool)
		svc.Annotations = map[string]string{prefix + "/multiplexer": "true"}
	})
}

// strangers are Services that aren't ours. Some lack fields that a careless expression would read.
func strangers() []*corev1.Service {
	plain := func(*corev1.Service) {}
	return []*corev1.Service{
		service("plain", plain),
		service("headless", func(svc *corev1.Service) { svc.Spec.ClusterIP = corev1.ClusterIPNone }),
		service("headless-without-ports", func(svc *corev1.Service) {
			svc.Spec.ClusterIP, svc.Spec.Ports = corev1.ClusterIPNone, nil
		}),
		service("external-name", func(svc *corev1.Service) {
			svc.Spec = corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: "example.com"}
		}),
		service("node-port", func(svc *corev1.Service) { svc.Spec.Type = corev1.ServiceTypeNodePort }),
		service("any-load-balancer", func(svc *corev1.Service) { svc.Spec.Type = corev1.ServiceTypeLoadBalancer }),
		service("annotated", func(svc *corev1.Service) {
			svc.Annotations = map[string]string{"example.com/x": "", prefix + "/external-ports": "nonsense"}
		}),
		service("no-mux", func(svc *corev1.Service) {
			svc.Annotations = map[string]string{prefix + "/multiplexer": "false"}
		}),
		service("labelled", func(svc *corev1.Service) {
			svc.Labels = map[string]string{prefix + "/multiplexer": "true"}
		}),
		withClass("other-class", "metallb.io/pool"),
		withClass("longer-prefix", prefix+".evil/mux"),
		withClass("longer-word", prefix+"s"),
		withClass("shorter-prefix", "nowake.ai/mux"),
		withClass("sub-prefix", "sub."+prefix+"/mux"),
		withClass("prefix-as-name", "example.com/"+prefix),
	}
}
