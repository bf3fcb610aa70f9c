package snapshot

import (
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"nowake.ai/svc-lb-mux/cmd/svcmux/archive"
	"nowake.ai/svc-lb-mux/cmd/svcmux/doctor"
)

const containers = "spec.template.spec.containers."

// deployment keeps the settings that a command reads.
func deployment(object archive.Object) archive.Object {
	picked := pick(object, "metadata.labels", "spec.replicas", "spec.template.spec.serviceAccountName", containers+"name",
		containers+"image",
		containers+"args", containers+"env.name", containers+"env.value", "status.availableReplicas")
	d := as[appsv1.Deployment](picked)
	for i := range d.Spec.Template.Spec.Containers {
		c := &d.Spec.Template.Spec.Containers[i]
		c.Args = slices.DeleteFunc(c.Args, func(arg string) bool {
			name, _, _ := strings.Cut(arg, "=")
			return !slices.Contains(settings(), name)
		})
		c.Env = slices.DeleteFunc(c.Env, func(v corev1.EnvVar) bool { return !slices.Contains(settings(), v.Name) })
	}
	return fieldsOf(d, object)
}

// settings are the flags and variables of the chart's processes that a command reads.
func settings() []string {
	return []string{
		"API_PREFIX", "DEFAULT_MUX_NAMESPACE", "EXTERNAL_DNS_PREFIXES", "--api-prefix", "--default-mux-namespace",
		"--external-dns-prefixes", "--lease-name",
		"--certificates", "--self-managed-secret", "--webhook-configuration", "--gateway-api-implementation", "--predict",
	}
}

// daemonSet keeps the images of a data plane. It returns nil for another DaemonSet, such as one that collects logs.
func daemonSet(object archive.Object) archive.Object {
	set := as[appsv1.DaemonSet](pick(object, containers+"image"))
	pod := &set.Spec.Template.Spec
	pod.Containers = slices.DeleteFunc(pod.Containers, func(c corev1.Container) bool {
		return !doctor.IsDataPlane(set.Name, c.Image)
	})
	if len(pod.Containers) == 0 {
		return nil
	}
	return pick(fieldsOf(set, object), containers+"image")
}
