package gitops

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// resource replays the requests of Terraform and its Kubernetes provider for a `kubernetes_service_v1`, as the
// provider's resource_kubernetes_service_v1.go sends them. No Terraform program runs in these tests. A create is a
// POST. A refresh is a GET into the state. An update is a JSON patch: an operation for each annotation that differs,
// and `replace /spec/ports` with the whole list if any port differs.
type resource struct {
	client kubernetes.Interface
	config *corev1.Service
	advice advice
	state  terraformState
}

// terraformState is what Terraform stores about a Service.
type terraformState struct {
	annotations map[string]string
	ports       []corev1.ServicePort
}

// advice holds a configuration's settings against differences. The zero value has none.
type advice struct {
	ignorePorts       bool             // lifecycle { ignore_changes = [spec[0].port] }
	ignoreAnnotations []*regexp.Regexp // ignore_annotations of the provider
}

// operation is an operation of a JSON patch.
type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value,omitempty"`
}

// terraform returns a client with the provider's user agent, from which the API server takes the name of the field
// manager.
func (w *world) terraform(t *testing.T) kubernetes.Interface {
	t.Helper()
	config := rest.CopyConfig(w.Config)
	config.UserAgent = "HashiCorp/1.0 Terraform/1.9.8"
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func (r *resource) create(ctx context.Context) error {
	created, err := r.client.CoreV1().Services(r.config.Namespace).Create(ctx, r.config.DeepCopy(), metav1.CreateOptions{})
	if err != nil {
		return err
	}
	r.state.annotations = maps.Clone(r.config.Annotations)
	r.read(created)
	return nil
}

// refresh reads the Service into the state, as each plan does first.
func (r *resource) refresh(ctx context.Context) error {
	live, err := r.client.CoreV1().Services(r.config.Namespace).Get(ctx, r.config.Name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	r.read(live)
	return nil
}

// read stores the Service's annotations and ports in the state. It leaves out annotations of Kubernetes and those that
// the provider ignores, unless the state has them already.
func (r *resource) read(live *corev1.Service) {
	annotations := map[string]string{}
	for key, value := range live.Annotations {
		_, known := r.state.annotations[key]
		if known || !isInternal(key) && !r.advice.ignores(key) {
			annotations[key] = value
		}
	}
	r.state = terraformState{annotations, live.Spec.Ports}
}

func (a advice) ignores(key string) bool {
	return slices.ContainsFunc(a.ignoreAnnotations, func(pattern *regexp.Regexp) bool { return pattern.MatchString(key) })
}

// isInternal is the provider's own rule for annotations that it never shows.
func isInternal(key string) bool {
	u, err := url.Parse("//" + key)
	if err != nil {
		return false
	}
	host := u.Hostname()
	return strings.HasSuffix(host, "kubernetes.io") && host != "app.kubernetes.io" && host != "service.beta.kubernetes.io"
}

// plan refreshes, and returns the operations that an apply would send. It returns none if Terraform shows no
// difference.
func (r *resource) plan(ctx context.Context) ([]operation, error) {
	if err := r.refresh(ctx); err != nil {
		return nil, err
	}
	var ops []operation
	path := func(key string) string {
		return "/metadata/annotations/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(key)
	}
	for _, key := range slices.Sorted(maps.Keys(r.state.annotations)) {
		if _, stays := r.config.Annotations[key]; !stays {
			ops = append(ops, operation{Op: "remove", Path: path(key)})
		}
	}
	for _, key := range slices.Sorted(maps.Keys(r.config.Annotations)) {
		value := r.config.Annotations[key]
		if was, known := r.state.annotations[key]; !known {
			ops = append(ops, operation{"add", path(key), value})
		} else if was != value {
			ops = append(ops, operation{"replace", path(key), value})
		}
	}
	if ports := r.plannedPorts(); !r.advice.ignorePorts && !slices.Equal(ports, r.state.ports) {
		ops = append(ops, operation{"replace", "/spec/ports", ports})
	}
	return ops, nil
}

// plannedPorts returns the configuration's ports. The provider fills unset fields from the port at the same index in
// the state.
func (r *resource) plannedPorts() []corev1.ServicePort {
	ports := slices.Clone(r.config.Spec.Ports)
	for i := range ports {
		ports[i].Protocol = corev1.ProtocolTCP // the provider's default
		if i < len(r.state.ports) {
			ports[i].TargetPort, ports[i].NodePort = r.state.ports[i].TargetPort, r.state.ports[i].NodePort
		}
	}
	return ports
}

// apply plans, and sends the operations. It returns them and the API server's answer, or nil if it sent nothing.
func (r *resource) apply(ctx context.Context) (ops []operation, answer *corev1.Service, err error) {
	ops, err = r.plan(ctx)
	if err != nil || len(ops) == 0 {
		return nil, nil, err
	}
	patch, err := json.Marshal(ops)
	if err != nil {
		return nil, nil, err
	}
	services := r.client.CoreV1().Services(r.config.Namespace)
	if answer, err = services.Patch(ctx, r.config.Name, types.JSONPatchType, patch, metav1.PatchOptions{}); err != nil {
		return nil, nil, fmt.Errorf("terraform apply sends %s: %w", patch, err)
	}
	r.state.annotations = maps.Clone(r.config.Annotations) // the planned values, until the next read
	return ops, answer, r.refresh(ctx)
}

func pathsOf(ops []operation) (paths []string) {
	for _, op := range ops {
		paths = append(paths, op.Op+" "+op.Path)
	}
	return paths
}
