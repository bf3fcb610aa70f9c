package changes

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"nowake.ai/svc-lb-mux/cmd/svcmux/look/looktest"
	"nowake.ai/svc-lb-mux/cmd/svcmux/validate"
	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
	"nowake.ai/svc-lb-mux/validation"
)

const under = validation.DefaultPrefix + "/"

// TestPredictionAgreesWithReconciler makes up histories of a mux and its channels, then files. It compares the
// prediction with a cluster to which the files are applied: at once, and every minute until each grace is over. A
// second cluster goes on without the files.
//
// -rapid.checks=1000 tries 1,000 histories.
func TestPredictionAgreesWithReconciler(t *testing.T) {
	changed := 0
	rapid.Check(t, func(r *rapid.T) {
		c := looktest.Empty(t)
		c.Apply(document(muxManifest(r), nil))
		for range rapid.IntRange(0, 6).Draw(r, "edits") {
			apply(c, accepted(c, files(r, 2)))
			c.Reconcile()
			c.Wait(time.Duration(rapid.SampledFrom([]int{1, 7, 12}).Draw(r, "minutes")) * time.Minute)
		}
		c.Reconcile()
		applied := files(r, 4)
		report, err := Predict(c.World(), validate.Objects{Services: applied}, c.Time())
		if err != nil {
			r.Fatal(err)
		}
		without, before := c.Copy(), shownPorts(c)
		apply(c, accepted(c, applied))
		const minutes = 45 // the longest grace, twice
		for minute := range int64(minutes) {
			c.Reconcile()
			without.Reconcile()
			want := expected(shownPorts(without), before, report, applied, minute*60)
			if diff := cmp.Diff(want, shownPorts(c)); diff != "" {
				r.Fatalf("after %d min (-predicted +done):\n%s\n%s\n%s", minute, diff, textOf(report), conditions(c))
			}
			if !hasGrace(t, c) && !hasGrace(t, without) {
				break // nothing more happens
			}
			c.Wait(time.Minute)
			without.Wait(time.Minute)
		}
		changed += len(report.Muxes)
	})
	if changed == 0 {
		t.Error("no history had a change")
	}
}

// hasGrace is true if a number of the mux is in grace.
func hasGrace(t *testing.T, c *looktest.Cluster) bool {
	seen, err := c.World().Index().Sight(types.NamespacedName{Namespace: "svc-mux", Name: "mux"}, c.Time())
	if err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(seen.World.Ledger.Ledger.Claims, func(claim plan.Claim) bool {
		return claim.State == plan.InGrace
	})
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

// document is the merge patch from a Service to its manifest. A mux that exists keeps its ports.
func document(svc, old *corev1.Service) string {
	annotations := map[string]any{}
	for _, name := range []string{"port-range", "max-ports", "release-grace", "allowed-namespaces", "explicit-range",
		"external-ports", "disabled"} {
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

// ports has the numbers of channels, by channel and port name.
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

// expected returns the ports that the report predicts, some seconds after the files were applied. A port that isn't in
// the report stays as it is if the files have its channel, and else as it is without the files.
func expected(without, before ports, report *Report, applied []*corev1.Service, seconds int64) ports {
	all := maps.Clone(without)
	for _, svc := range applied {
		under := keyOf(svc).String() + ":"
		maps.DeleteFunc(all, func(port string, _ int32) bool { return strings.HasPrefix(port, under) })
		for port, number := range before {
			if strings.HasPrefix(port, under) {
				all[port] = number
			}
		}
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

// conditions returns the conditions of all channels as text.
func conditions(c *looktest.Cluster) string {
	var b strings.Builder
	for key, svc := range c.World().Services {
		for _, condition := range svc.Status.Conditions {
			fmt.Fprintf(&b, "%s: %s %s %s %s\n", key, condition.Type, condition.Status, condition.Reason, condition.Message)
		}
	}
	return b.String()
}
