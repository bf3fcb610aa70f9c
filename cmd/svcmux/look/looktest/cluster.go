package looktest

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"nowake.ai/svc-lb-mux/validation"
)

// Now is the time of all clusters.
func Now() time.Time { return time.Date(2026, 1, 12, 3, 4, 5, 0, time.UTC) }

// key names an object.
type key struct {
	kind string
	types.NamespacedName
}

// Cluster has the objects of a cluster.
type Cluster struct {
	t        testing.TB
	language validation.Language
	objects  map[key]map[string]any
	order    []key
	now      time.Time
	step     time.Duration // between the creations of two objects
}

// The lines of a file that separate its parts. Documents change objects that exist, as a merge patch. The reconciler
// works after each part. It doesn't see the documents after the line unattended.
const (
	separator  = "\n---\n"
	nextPart   = "\n# then\n"
	unattended = "\n# unattended\n"
)

// Load reads a cluster.
func Load(t testing.TB, path string) *Cluster {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	language, err := validation.New(validation.DefaultPrefix, "svc-mux")
	if err != nil {
		t.Fatal(err)
	}
	c := &Cluster{t: t, language: language, objects: map[key]map[string]any{}, now: Now().Add(-12 * 24 * time.Hour),
		step: time.Minute}
	for part := range strings.SplitSeq("\n"+string(text), nextPart) {
		first, later, _ := strings.Cut(part, unattended)
		c.apply(first)
		c.readPrefixes()
		c.reconcile()
		c.now = Now().Add(-2 * time.Minute)
		c.apply(later)
	}
	return c
}

// readPrefixes gives the stand-in for the reconciler the prefixes of external-dns that the reconciler's Deployment has.
func (c *Cluster) readPrefixes() {
	c.t.Helper()
	for _, d := range c.deployments() {
		for _, container := range d.Spec.Template.Spec.Containers {
			for _, arg := range container.Args {
				prefixes, is := strings.CutPrefix(arg, "--external-dns-prefixes=")
				if !is {
					continue
				}
				var err error
				if c.language, err = c.language.WithExternalDNS(strings.Split(prefixes, ",")); err != nil {
					c.t.Fatal(err)
				}
			}
		}
	}
}

func (c *Cluster) apply(part string) {
	c.t.Helper()
	for _, doc := range strings.Split(part, separator) {
		var object map[string]any
		if err := yaml.Unmarshal([]byte(doc), &object); err != nil {
			c.t.Fatalf("%v:\n%s", err, doc)
		}
		if object == nil {
			continue
		}
		meta, _ := object["metadata"].(map[string]any)
		at := key{object["kind"].(string),
			types.NamespacedName{Namespace: textOf(meta["namespace"]), Name: textOf(meta["name"])}}
		if meta["deletionTimestamp"] == "now" {
			delete(c.objects, at)
			continue
		}
		if c.objects[at] == nil {
			c.order = append(c.order, at)
			meta["uid"] = at.String()
			meta["creationTimestamp"] = c.now.Add(time.Duration(len(c.order)) * c.step).Format(time.RFC3339)
			c.objects[at] = map[string]any{}
		}
		merge(c.objects[at], object)
	}
}

func textOf(value any) string {
	text, _ := value.(string)
	return text
}

// merge applies a JSON merge patch.
func merge(into, patch map[string]any) {
	for name, value := range patch {
		inner, isMap := value.(map[string]any)
		old, wasMap := into[name].(map[string]any)
		switch {
		case value == nil:
			delete(into, name)
		case isMap && wasMap:
			merge(old, inner)
		default:
			into[name] = value
		}
	}
}

// put stores an object.
func (c *Cluster) put(kind string, object metav1.Object) {
	at := key{kind, types.NamespacedName{Namespace: object.GetNamespace(), Name: object.GetName()}}
	text, err := json.Marshal(object)
	if err != nil {
		c.t.Fatal(err)
	}
	var fields map[string]any
	if err := json.Unmarshal(text, &fields); err != nil {
		c.t.Fatal(err)
	}
	if c.objects[at] == nil {
		c.order = append(c.order, at)
	}
	fields["kind"] = kind
	c.objects[at] = fields
}

func get[T any](c *Cluster, at key) *T {
	text, err := json.Marshal(c.objects[at])
	if err != nil {
		c.t.Fatal(err)
	}
	object := new(T)
	decoder := json.NewDecoder(bytes.NewReader(text))
	if err := decoder.Decode(object); err != nil {
		c.t.Fatalf("%s: %v", at, err)
	}
	return object
}

// list returns all objects of a kind, in the order in which they were made.
func list[T any](c *Cluster, kind string) []*T {
	var all []*T
	for _, at := range c.order {
		if at.kind == kind && c.objects[at] != nil {
			all = append(all, get[T](c, at))
		}
	}
	return all
}

func (c *Cluster) services() []*corev1.Service { return list[corev1.Service](c, "Service") }
func (c *Cluster) slices() []*discoveryv1.EndpointSlice {
	return list[discoveryv1.EndpointSlice](c, "EndpointSlice")
}
func (c *Cluster) configMaps() []*corev1.ConfigMap   { return list[corev1.ConfigMap](c, "ConfigMap") }
func (c *Cluster) deployments() []*appsv1.Deployment { return list[appsv1.Deployment](c, "Deployment") }
