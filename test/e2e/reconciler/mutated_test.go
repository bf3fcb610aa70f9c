package reconciler

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/test/cluster/cluster"
)

const (
	addedLabel     = "example.com/cost-center"
	addedNote      = "policies.example.com/last-applied"
	notTolerated   = "policies.example.com/not-tolerated"
	mutatingPolicy = "adds-marks"
)

// TestMutatingAdmission adds a label and an annotation to every ConfigMap, Service and EndpointSlice by a
// MutatingAdmissionPolicy. For the restraint policies, these look like the reconciler's own changes.
func TestMutatingAdmission(t *testing.T) {
	t.Parallel()
	s := &scene{world: start(t, cluster.APIServerOnly(), cluster.Helm())}
	s.skipWithoutMutation(t)
	s.restrain(t, "restraint.tolerate={"+addedNote+"}")
	s.proxy = s.through(t)
	s.run = s.again(t)
	before := s.mux(t, "before")
	web := s.channel(t, "before", "web", before, selectorless)
	s.backends(t, web, "web-1", "http:8080", "10.1.0.1")
	s.awaitServed(t, web, "http:80->20000")
	s.awaitCarried(t, before, "20000/TCP 8080: 10.1.0.1")
	s.mutate(t, addedNote)

	t.Run("an older mux can still be written", func(t *testing.T) {
		late := s.channel(t, "before", "late", before)
		s.awaitServed(t, late, "http:80->20001")
		s.backends(t, web, "web-1", "http:8080", "10.1.0.1", "10.1.0.2")
		s.awaitCarried(t, before, "20000/TCP 8080: 10.1.0.1 10.1.0.2")
		s.awaitMarked(t, before, late)
	})
	t.Run("a new mux gets ports", func(t *testing.T) {
		after := s.mux(t, "after")
		api := s.channel(t, "after", "api", after, selectorless)
		s.backends(t, api, "api-1", "http:8080", "10.1.0.3")
		s.awaitServed(t, api, "http:80->20000")
		s.awaitCarried(t, after, "20000/TCP 8080: 10.1.0.3")
		s.awaitMarked(t, after, api)
		s.delete(t, api)
		s.awaitClaims(t, after)
	})
	t.Run("the added keys cause no drift and no freeze", func(t *testing.T) {
		s.staysQuiet(t)
		for _, reason := range []string{"MuxDriftCorrected", "MuxPatchRefused", "PortAllocationStoreInvalid", "Contested"} {
			if told := having(s.events(t, before), reason); len(told) > 0 {
				t.Errorf("events: %v", told)
			}
		}
	})
	t.Run("a key that isn't tolerated is reported with the chart's setting", func(t *testing.T) {
		s.mutate(t, notTolerated)
		s.channel(t, "before", "last", before)
		s.awaitTold(t, before, "Warning MuxPatchRefused ", "the annotation "+notTolerated, "restraint.tolerate")
		s.awaitServed(t, web, "http:80->20000")
	})
	t.Run("a key that is added only to a channel's status is reported, too", func(t *testing.T) {
		const onStatus = notTolerated + "-either"
		s.Kubectl(t, "delete", "mutatingadmissionpolicybinding,mutatingadmissionpolicy", mutatingPolicy)
		mux := s.mux(t, "spoken")
		api := s.channel(t, "spoken", "api", mux)
		s.awaitServed(t, api, "http:80->20000")
		s.Apply(t, mutation(onStatus,
			`{operations: [UPDATE], apiGroups: [""], apiVersions: ["v1"], resources: [services/status]}`))
		s.awaitMutation(t, onStatus, "status")
		s.annotate(t, api, "disabled", "true")
		s.awaitTold(t, mux, "Warning MuxPatchRefused ", "the status of channel spoken/api", "the annotation "+onStatus,
			"restraint.tolerate")
	})
}

// skipWithoutMutation skips on a Kubernetes that doesn't serve MutatingAdmissionPolicies as v1, before 1.36.
func (s *scene) skipWithoutMutation(t *testing.T) {
	t.Helper()
	list, err := s.user.Discovery().ServerResourcesForGroupVersion("admissionregistration.k8s.io/v1")
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(list.APIResources, func(r metav1.APIResource) bool {
		return r.Name == "mutatingadmissionpolicies"
	}) {
		t.Skip("this Kubernetes has no MutatingAdmissionPolicy v1")
	}
}

// mutate adds a label and an annotation to every object that the reconciler writes.
func (s *scene) mutate(t *testing.T, note string) {
	t.Helper()
	s.Apply(t, mutation(note,
		`{operations: [CREATE, UPDATE], apiGroups: [""], apiVersions: ["v1"],
			resources: [configmaps, services, services/status]},
      {operations: [CREATE, UPDATE], apiGroups: [discovery.k8s.io], apiVersions: ["v1"], resources: [endpointslices]}`))
	s.awaitMutation(t, note)
}

func mutation(note, rules string) string {
	return `
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: ` + mutatingPolicy + `}
spec:
  failurePolicy: Fail
  reinvocationPolicy: Never
  matchConstraints:
    resourceRules: [` + rules + `]
  mutations:
  - patchType: ApplyConfiguration
    applyConfiguration:
      expression: |-
        Object{metadata: Object.metadata{labels: {"` + addedLabel + `": "7"}, annotations: {"` + note + `": "one"}}}
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata: {name: ` + mutatingPolicy + `}
spec: {policyName: ` + mutatingPolicy + `}
`
}

// awaitMutation waits until the API server adds the annotation to requests.
func (s *scene) awaitMutation(t *testing.T, note string, subresources ...string) {
	t.Helper()
	cluster.Eventually(t, "objects get the annotation "+note, func(ctx context.Context) error {
		svc, err := s.user.CoreV1().Services("default").Patch(ctx, "kubernetes", types.MergePatchType,
			[]byte(`{"metadata":{"annotations":{"tried":"yes"}}}`), metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}},
			subresources...)
		if err == nil && svc.Annotations[note] == "" {
			err = errors.New("the annotation isn't added yet")
		}
		return err
	})
}

// awaitMarked waits until ledger, mux, channel and slices have the label and the annotation.
func (s *scene) awaitMarked(t *testing.T, mux, channel types.NamespacedName) {
	t.Helper()
	cluster.Eventually(t, "all that the reconciler writes is marked", func(ctx context.Context) error {
		ledger, err := s.user.CoreV1().ConfigMaps(mux.Namespace).Get(ctx, ledgerOf(mux).Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		objects := map[string]metav1.Object{"ledger": ledger, "mux": s.get(t, mux), "channel": s.get(t, channel)}
		slicesOfMux, err := s.user.DiscoveryV1().EndpointSlices(mux.Namespace).List(ctx,
			metav1.ListOptions{LabelSelector: discoveryv1.LabelServiceName + "=" + mux.Name + "," + discoveryv1.LabelManagedBy +
				"=" + prefix})
		if err != nil || len(slicesOfMux.Items) == 0 {
			return errors.Join(err, fmt.Errorf("the mux has %d slices", len(slicesOfMux.Items)))
		}
		for i := range slicesOfMux.Items {
			objects["slice "+slicesOfMux.Items[i].Name] = &slicesOfMux.Items[i]
		}
		for _, what := range slices.Sorted(maps.Keys(objects)) {
			if o := objects[what]; o.GetLabels()[addedLabel] == "" || o.GetAnnotations()[addedNote] == "" {
				return fmt.Errorf("the %s has labels %v and annotations %v", what, o.GetLabels(), o.GetAnnotations())
			}
		}
		return nil
	})
}

// staysQuiet fails if the reconciler at rest writes anything but its lease. The time span isn't a measure of speed: a
// write loop writes many times within it.
func (s *scene) staysQuiet(t *testing.T) {
	t.Helper()
	writes := func() (n int) {
		for _, entry := range s.proxy.Log() {
			if entry.IsWrite() && entry.Request.Resource != "leases" && entry.Request.Resource != "events" {
				n++
			}
		}
		return n
	}
	var last int
	s.eventually(t, "nothing is written for 3 s", func() bool {
		last = writes()
		time.Sleep(3 * time.Second)
		return writes() == last
	})
}
