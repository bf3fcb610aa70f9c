package line

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
)

func TestATemplateIsAPartOfAService(t *testing.T) {
	parsed, err := parseTemplate(&corev1.ConfigMap{Data: map[string]string{templateKey: `
metadata: {labels: {team: infra}, annotations: {cloud: a}}
spec: {loadBalancerClass: example.com/lb, externalTrafficPolicy: Local}
`}})
	if err != nil || parsed.Labels["team"] != "infra" || parsed.Annotations["cloud"] != "a" ||
		*parsed.Spec.LoadBalancerClass != "example.com/lb" {
		t.Errorf("%+v, %v", parsed, err)
	}
	if _, err := parseTemplate(&corev1.ConfigMap{}); err == nil {
		t.Error("a ConfigMap without the key is a template")
	}
	for _, text := range []string{"metadata: {name: a}", "metadata: {namespace: a}", "spec: {ports: [{port: 80}]}",
		"spec: {selector: {a: b}}", "spec: {type: ClusterIP}",
		"spec: {prots: []}", "["} {
		if _, err := parseTemplate(&corev1.ConfigMap{Data: map[string]string{templateKey: text}}); err == nil {
			t.Errorf("%s: it isn't refused", text)
		}
	}
}
