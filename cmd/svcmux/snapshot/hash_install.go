package snapshot

import (
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nowake.ai/svc-lb-mux/cmd/svcmux/archive"
	"nowake.ai/svc-lb-mux/cmd/svcmux/doctor"
)

// deployment hashes names in a Deployment of the installation. Its own name stays. Prefixes of external-dns go, since
// they are DNS names.
func (h *hashing) deployment(d *appsv1.Deployment) {
	const namespaceFlag, prefixesFlag = "--default-mux-namespace=", "--external-dns-prefixes="
	for key, value := range d.Labels {
		if !strings.HasPrefix(key, "app.kubernetes.io/") { // names and releases of our parts
			d.Labels[key] = h.value(value)
		}
	}
	for i := range d.Spec.Template.Spec.Containers {
		c := &d.Spec.Template.Spec.Containers[i]
		c.Image = withoutRegistry(c.Image)
		c.Args = slices.DeleteFunc(c.Args, func(arg string) bool { return strings.HasPrefix(arg, prefixesFlag) })
		c.Env = slices.DeleteFunc(c.Env, func(v corev1.EnvVar) bool { return v.Name == "EXTERNAL_DNS_PREFIXES" })
		for j, arg := range c.Args {
			if namespace, is := strings.CutPrefix(arg, namespaceFlag); is {
				c.Args[j] = namespaceFlag + h.name(namespace)
			}
		}
		for j := range c.Env {
			if c.Env[j].Name == "DEFAULT_MUX_NAMESPACE" {
				c.Env[j].Value = h.name(c.Env[j].Value)
			}
		}
	}
}

// daemonSet hashes the namespace of a DaemonSet, and its name unless only the name tells which data plane it is.
func (h *hashing) daemonSet(set *appsv1.DaemonSet) {
	pod := &set.Spec.Template.Spec
	for i := range pod.Containers {
		pod.Containers[i].Image = withoutRegistry(pod.Containers[i].Image)
	}
	set.Namespace = h.name(set.Namespace)
	if name := h.name(set.Name); len(pod.Containers) > 0 && doctor.IsDataPlane(name, pod.Containers[0].Image) {
		set.Name = name
	}
}

// withoutRegistry drops an image's registry and folders. The folder calico is part of an image's name.
func withoutRegistry(image string) string {
	repository, digest, isPinned := strings.Cut(image, "@")
	folders, name := "", repository
	if slash := strings.LastIndexByte(repository, '/'); slash >= 0 {
		folders, name = repository[:slash], repository[slash+1:]
	}
	if strings.HasSuffix("/"+folders, "/calico") {
		name = "calico/" + name
	}
	if isPinned {
		name += "@" + digest
	}
	return name
}

// webhooks hashes the values in the selectors of a configuration.
func (h *hashing) webhooks(configuration archive.Object) {
	hooks, _ := configuration["webhooks"].([]any)
	for _, hook := range hooks {
		fields, _ := hook.(map[string]any)
		selector, _ := fields["namespaceSelector"].(map[string]any)
		if selector == nil {
			continue
		}
		hashed := as[metav1.LabelSelector](selector)
		h.selector(hashed)
		fields["namespaceSelector"] = hashed
	}
}
