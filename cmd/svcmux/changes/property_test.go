package changes

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"nowake.ai/svc-lb-mux/cmd/svcmux/look/looktest"
	"nowake.ai/svc-lb-mux/validation"
)

const under = validation.DefaultPrefix + "/"

// TestReconcilerDoesWhatIsForetold makes up histories of a mux and its channels, then files, and compares what is foretold of the files
// with what the reconciler does once they are applied: at once, and after each grace.
func TestReconcilerDoesWhatIsForetold(t *testing.T) {
	changed := 0
	rapid.Check(t, func(r *rapid.T) {
		c := looktest.Empty(t)
		c.Apply(document(muxOf(r), nil))
		for range rapid.IntRange(0, 6).Draw(r, "edits") {
			apply(c, accepted(c, files(r, 2)))
			c.Reconcile()
			c.Wait(time.Duration(rapid.SampledFrom([]int{1, 7, 12}).Draw(r, "minutes")) * time.Minute)
		}
		c.Reconcile()
		applied := files(r, 4)
		report, err := Foretell(c.World(), applied, c.Time())
		if err != nil {
			r.Fatal(err)
		}
		before := shownPorts(c)
		apply(c, accepted(c, applied))
		c.Reconcile()
		if diff := cmp.Diff(expected(before, report, 0), shownPorts(c)); diff != "" {
			r.Fatalf("at once (-foretold +done):\n%s\n%s\n%s", diff, textOf(report), conditions(c))
		}
		const minutes = 45 // the longest grace, twice
		for minute := range int64(minutes) {
			c.Wait(time.Minute)
			c.Reconcile()
			seconds := (minute + 1) * 60
			if diff := cmp.Diff(expected(before, report, seconds), shownPorts(c)); diff != "" {
				r.Fatalf("after %d s (-foretold +done):\n%s\n%s\n%s", seconds, diff, textOf(report), conditions(c))
			}
		}
		changed += len(report.Muxes)
	})
	if changed == 0 {
		t.Error("no history had a change")
	}
}

func textOf(report *Report) string {
	text, _ := json.MarshalIndent(report, "", " ")
	return string(text)
}

// accepted leaves out the manifests that admission refuses: the API server doesn't store them.
func accepted(c *looktest.Cluster, manifests []*corev1.Service) []*corev1.Service {
	language, _ := validation.New(validation.DefaultPrefix, "svc-mux")
	stored := map[types.NamespacedName]*corev1.Service{}
	for key, svc := range c.World().Services {
		stored[key] = svc
	}
	return slices.DeleteFunc(slices.Clone(manifests), func(svc *corev1.Service) bool {
		if len(language.Review(stored[keyOf(svc)], svc).Denied) > 0 {
			return true
		}
		stored[keyOf(svc)] = svc
		return false
	})
}

func apply(c *looktest.Cluster, manifests []*corev1.Service) {
	for _, svc := range manifests {
		c.Apply(document(svc, c.World().Services[keyOf(svc)]))
	}
}

// document is a merge patch that makes a Service what the manifest says. A mux that exists keeps its ports.
func document(svc, old *corev1.Service) string {
	annotations := map[string]any{}
	for _, name := range []string{"port-range", "max-ports", "release-grace", "allowed-namespaces", "explicit-range", "external-ports", "disabled"} {
		if old != nil && old.Annotations[under+name] != "" {
			annotations[under+name] = nil
		}
	}
	for name, value := range svc.Annotations {
		annotations[name] = value
	}
	spec := map[string]any{"type": svc.Spec.Type, "ports": svc.Spec.Ports, "loadBalancerClass": svc.Spec.LoadBalancerClass}
	if svc.Name == "mux" && old != nil {
		delete(spec, "ports")
	}
	text, _ := json.Marshal(map[string]any{"kind": "Service", "spec": spec,
		"metadata": map[string]any{"namespace": svc.Namespace, "name": svc.Name, "annotations": annotations}})
	return string(text)
}

// ports are the numbers that channels have, by channel and port name.
type ports map[string]int32

func shownPorts(c *looktest.Cluster) ports {
	language, _ := validation.New(validation.DefaultPrefix, "svc-mux")
	all := ports{}
	for _, svc := range c.World().Services {
		if !language.Classify(svc).Channel() {
			continue // the stand-in leaves the annotation on former channels
		}
		channel, _ := language.ParseChannel(svc)
		for _, recorded := range channel.Recorded {
			all[fmt.Sprintf("%s/%s:%s", svc.Namespace, svc.Name, recorded.Name)] = recorded.Public
		}
	}
	return all
}

// expected is what channels have some seconds after the files were applied, as the report says.
func expected(before ports, report *Report, seconds int64) ports {
	all := ports{}
	for port, number := range before {
		all[port] = number
	}
	for i := range report.Muxes {
		for _, channel := range report.Muxes[i].Channels {
			for _, port := range channel.Ports {
				at := channel.Name + ":" + port.Name
				if all[at] = port.After; port.Change != Freed && port.InSeconds > seconds {
					all[at] = port.Before
				}
				if all[at] == 0 {
					delete(all, at)
				}
			}
		}
	}
	return all
}

// conditions are what the stand-in says of each channel.
func conditions(c *looktest.Cluster) string {
	var b strings.Builder
	for key, svc := range c.World().Services {
		for _, condition := range svc.Status.Conditions {
			fmt.Fprintf(&b, "%s: %s %s %s %s\n", key, condition.Type, condition.Status, condition.Reason, condition.Message)
		}
	}
	return b.String()
}
