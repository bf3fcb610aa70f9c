package reconciler

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/test/cluster/cluster"
	"nowake.ai/svc-lb-mux/test/cluster/faults"
)

// refusedLedger: a quota leaves no room for the ledger. Whoever is new is told so in the API server's words, once however
// often it is tried, and gets its ports when there is room.
func (s cases) refusedLedger(t *testing.T) {
	const namespace = "no-ledgers"
	s.namespace(t, namespace)
	quota := s.quota(t, namespace)
	in := func(svc *corev1.Service) { svc.Namespace = namespace }
	mux := s.mux(t, "cramped", in)
	web := s.channel(t, "cramped", "web", mux)
	s.awaitWaiting(t, web, "exceeded quota: no-configmaps")
	s.awaitTold(t, web, "Warning Waiting ", "exceeded quota: no-configmaps")
	s.awaitTriedAgain(t, "configmaps", ledgerOf(mux), 3)
	late := s.channel(t, "cramped", "late", mux)
	s.awaitWaiting(t, late, "ConfigMap cramped-port-allocations")
	s.toldOnce(t, mux, "Warning MuxPatchRefused ", "exceeded quota: no-configmaps")
	s.run.awaitSeries(t, mux.Name, "svc_lb_mux_frozen 1", "svc_lb_mux_freezes_total 1")

	if err := s.user.CoreV1().ResourceQuotas(namespace).Delete(t.Context(), quota, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	s.awaitServed(t, web, "http:80->20000")
	s.awaitServed(t, late, "http:80->20001")
	s.awaitTold(t, web, "Normal Accepted ")
	s.awaitTold(t, mux, "Normal MuxUnfrozen ", "exceeded quota: no-configmaps")
	s.run.awaitSeries(t, mux.Name, "svc_lb_mux_frozen 0", "svc_lb_mux_freezes_total 1")
	s.toldOnce(t, mux, "MuxUnfrozen ")
}

// quota has a namespace hold no ConfigMaps but those that are there.
func (s *scene) quota(t *testing.T, namespace string) string {
	t.Helper()
	all := s.user.CoreV1().ResourceQuotas(namespace)
	hard := corev1.ResourceList{corev1.ResourceConfigMaps: resource.MustParse("0")}
	made, err := all.Create(t.Context(), &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Name: "no-configmaps"}, Spec: corev1.ResourceQuotaSpec{Hard: hard},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	cluster.Eventually(t, "the quota counts", func(ctx context.Context) error {
		now, err := all.Get(ctx, made.Name, metav1.GetOptions{})
		if err == nil && len(now.Status.Hard) == 0 {
			err = errors.New("it doesn't yet")
		}
		return err
	})
	return made.Name
}

// refusedMux: a policy lets nobody write the mux. Who has ports keeps them, address and backends flow, and nobody who asks
// for some is left without a word.
func (s cases) refusedMux(t *testing.T) {
	mux, web := s.allotted(t, "fixed")
	s.Apply(t, policyAgainst(mux))
	s.awaitPolicy(t, mux)
	late := s.channel(t, "fixed", "late", mux)
	s.awaitCondition(t, late, "Programmed", "False Waiting")
	s.awaitMessage(t, late, "Programmed", "denied request: nobody writes it")
	s.awaitFlow(t, mux, web)
	s.awaitTriedAgain(t, "services", mux, 7) // whole, without notes and without newcomers, each time
	s.awaitPublic(t, mux, "20001/TCP")
	s.toldOnce(t, mux, "Warning MuxPatchRefused ", "denied request: nobody writes it")
	s.run.awaitSeries(t, mux.Name, "svc_lb_mux_frozen 1", "svc_lb_mux_freezes_total 1")

	s.Kubectl(t, "delete", "validatingadmissionpolicybinding,validatingadmissionpolicy", "fixed")
	s.awaitServed(t, late, "http:80->20000")
	s.awaitServed(t, web, "http:80->20001")
	s.awaitTold(t, mux, "Normal MuxUnfrozen ", "nobody writes it")
	s.run.awaitSeries(t, mux.Name, "svc_lb_mux_frozen 0", "svc_lb_mux_freezes_total 1")
}

// policyAgainst denies all writes of a mux; its status is another matter.
func policyAgainst(mux types.NamespacedName) string {
	return `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: ` + mux.Name + `}
spec:
  matchConstraints:
    resourceRules: [{operations: [UPDATE], apiGroups: [""], apiVersions: ["*"], resources: [services]}]
  matchConditions:
  - name: this-one
    expression: request.namespace == '` + mux.Namespace + `' && request.name == '` + mux.Name + `'
  validations: [{expression: "false", message: nobody writes it}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: ` + mux.Name + `}
spec: {policyName: ` + mux.Name + `, validationActions: [Deny]}
`
}

// awaitPolicy waits until a write of the mux is denied.
func (s *scene) awaitPolicy(t *testing.T, mux types.NamespacedName) {
	t.Helper()
	cluster.Eventually(t, "the policy is in force", func(ctx context.Context) error {
		_, err := s.user.CoreV1().Services(mux.Namespace).Patch(ctx, mux.Name, types.MergePatchType,
			[]byte(`{"metadata":{"labels":{"a":"b"}}}`), metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}})
		if err == nil {
			return errors.New("it isn't")
		}
		return nil
	})
}

// awaitTriedAgain waits until writes of something were refused so often.
func (s *scene) awaitTriedAgain(t *testing.T, resource string, key types.NamespacedName, often int) {
	t.Helper()
	s.eventually(t, "it has been tried again", func() bool {
		count := 0
		for _, entry := range s.proxy.Log() {
			refused := entry.Status == http.StatusForbidden || entry.Status == http.StatusUnprocessableEntity
			if refused && entry.IsWrite() && of(entry.Request, resource, key) {
				count++
			}
		}
		return count >= often
	})
}

// of is true for a request about an object; one that is created is named in the body alone.
func of(r faults.Request, resource string, key types.NamespacedName) bool {
	return r.Resource == resource && r.Subresource == "" && r.Namespace == key.Namespace && (r.Name == key.Name || r.Verb == "create")
}

// toldOnce waits for an Event, of which there must be one.
func (s *scene) toldOnce(t *testing.T, about types.NamespacedName, words ...string) {
	t.Helper()
	s.awaitTold(t, about, words...)
	if told := having(s.events(t, about), words[0]); len(told) != 1 || !strings.Contains(told[0], " 1: ") {
		t.Errorf("it was told as %v", told)
	}
}

func (s *scene) awaitMessage(t *testing.T, channel types.NamespacedName, kind, words string) {
	t.Helper()
	cluster.Eventually(t, channel.String()+" says "+words, func(context.Context) error {
		for _, c := range s.get(t, channel).Status.Conditions {
			if c.Type == prefix+"/"+kind && strings.Contains(c.Message, words) {
				return nil
			}
		}
		return errors.New("it doesn't")
	})
}
