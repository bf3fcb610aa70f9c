package chart

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/yaml"

	"nowake.ai/svc-lb-mux/test/cluster/binaries"
)

const (
	folder    = "../../charts/svc-lb-mux"
	release   = "svc-mux"
	namespace = "infra"
)

// helm runs the real helm. It returns its standard output, or on failure its standard error.
func helm(t *testing.T, args ...string) (string, bool) {
	t.Helper()
	cache, err := binaries.Open()
	if err != nil {
		t.Fatal(err)
	}
	dirs, err := cache.Need(t.Context(), binaries.Helm3())
	if err != nil {
		t.Fatal(err)
	}
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(t.Context(), filepath.Join(dirs["helm3"], "helm"), args...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	cmd.Env = append(os.Environ(), "GOGC=off", "HELM_CACHE_HOME="+t.TempDir(), "HELM_CONFIG_HOME="+t.TempDir(),
		"HELM_DATA_HOME="+t.TempDir())
	if err := cmd.Run(); err != nil {
		return stderr.String(), false
	}
	return stdout.String(), true
}

// render renders the chart, hooks included. Flags are helm's, such as --set=a.b=c.
func render(t *testing.T, flags ...string) []runtime.Object {
	t.Helper()
	return renderAs(t, release, namespace, flags...)
}

func renderAs(t *testing.T, release, namespace string, flags ...string) []runtime.Object {
	t.Helper()
	text, ok := helm(t, append([]string{"template", release, folder, "--namespace=" + namespace}, flags...)...)
	if !ok {
		t.Fatalf("helm template %q: %s", flags, text)
	}
	return decode(t, text)
}

// refused returns helm's reason not to render the chart.
func refused(t *testing.T, flags ...string) string {
	t.Helper()
	text, ok := helm(t, append([]string{"template", release, folder, "--namespace=" + namespace}, flags...)...)
	if ok {
		t.Fatalf("helm accepts %q, want a refusal", flags)
	}
	return text
}

// decode fails on fields that a kind doesn't have. Kinds that aren't Kubernetes' own stay maps.
func decode(t *testing.T, text string) []runtime.Object {
	t.Helper()
	strict := serializer.NewCodecFactory(scheme.Scheme, serializer.EnableStrict).UniversalDeserializer()
	var objects []runtime.Object
	for document := range strings.SplitSeq("\n"+text, "\n---") {
		var fields map[string]any
		if err := yaml.UnmarshalStrict([]byte(document), &fields); err != nil {
			t.Fatalf("%v in\n%s", err, document)
		}
		if fields == nil {
			continue
		}
		object, _, err := strict.Decode([]byte(document), nil, nil)
		if runtime.IsNotRegisteredError(err) {
			object, err = &unstructured.Unstructured{Object: fields}, nil
		}
		if err != nil {
			t.Fatalf("%v in\n%s", err, document)
		}
		objects = append(objects, object)
	}
	return objects
}

// all returns the objects of a type.
func all[T runtime.Object](objects []runtime.Object) []T {
	var list []T
	for _, object := range objects {
		if typed, ok := object.(T); ok {
			list = append(list, typed)
		}
	}
	return list
}

// named returns the object of a type and a name.
func named[T runtime.Object](t *testing.T, objects []runtime.Object, name string) T {
	t.Helper()
	for _, object := range all[T](objects) {
		if any(object).(metav1.Object).GetName() == name {
			return object
		}
	}
	var none T
	t.Fatalf("there is no %T %s", none, name)
	return none
}

// foreign returns an object whose kind isn't Kubernetes' own, as a map.
func foreign(t *testing.T, objects []runtime.Object, kind, name string) map[string]any {
	t.Helper()
	for _, object := range all[*unstructured.Unstructured](objects) {
		if object.GetKind() == kind && object.GetName() == name {
			return object.Object
		}
	}
	t.Fatalf("there is no %s %s", kind, name)
	return nil
}

// pod is the pod of a template, and its owner.
type pod struct {
	owner  string
	labels map[string]string
	spec   corev1.PodSpec
}

func podsOf(objects []runtime.Object) []pod {
	var pods []pod
	for _, d := range all[*appsv1.Deployment](objects) {
		pods = append(pods, pod{"Deployment " + d.Name, d.Spec.Template.Labels, d.Spec.Template.Spec})
	}
	for _, d := range all[*appsv1.DaemonSet](objects) {
		pods = append(pods, pod{"DaemonSet " + d.Name, d.Spec.Template.Labels, d.Spec.Template.Spec})
	}
	for _, j := range all[*batchv1.Job](objects) {
		pods = append(pods, pod{"Job " + j.Name, j.Spec.Template.Labels, j.Spec.Template.Spec})
	}
	for _, p := range all[*corev1.Pod](objects) {
		pods = append(pods, pod{"Pod " + p.Name, p.Labels, p.Spec})
	}
	return pods
}

// args returns the arguments of a Deployment's container.
func args(t *testing.T, objects []runtime.Object, deployment string) []string {
	t.Helper()
	return named[*appsv1.Deployment](t, objects, deployment).Spec.Template.Spec.Containers[0].Args
}
