package reconciler

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/test/cluster/cluster"
	"nowake.ai/svc-lb-mux/test/cluster/faults"
	"nowake.ai/svc-lb-mux/validation"
)

// refusedLedger sets a quota without room for the ledger. New channels get the API server's message, once however often
// the write is retried, and get their ports when there is room.
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

// quota limits a namespace to its present ConfigMaps.
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
			err = errors.New("the quota has no status yet")
		}
		return err
	})
	return made.Name
}

// refusedMux sets a policy that denies all writes of the mux. Channels keep their ports, address and backends are
// updated, and new channels are told why they wait.
func (s cases) refusedMux(t *testing.T) {
	mux, web := s.allotted(t, "fixed")
	s.Apply(t, policyAgainst(mux))
	s.awaitDenied(t, mux, `{"metadata":{"labels":{"a":"b"}}}`)
	late := s.channel(t, "fixed", "late", mux)
	s.awaitCondition(t, late, "Programmed", "False Waiting")
	s.awaitMessage(t, late, "Programmed", "denied request: this mux is read-only")
	s.awaitFlow(t, mux, web)
	s.awaitTriedAgain(t, "services", mux, 7) // each retry has three writes: all, all without notes, all without newcomers
	s.awaitPublic(t, mux, "20001/TCP")
	s.toldOnce(t, mux, "Warning MuxPatchRefused ", "denied request: this mux is read-only")
	s.run.awaitSeries(t, mux.Name, "svc_lb_mux_frozen 1", "svc_lb_mux_freezes_total 1")

	s.Kubectl(t, "delete", "validatingadmissionpolicybinding,validatingadmissionpolicy", "fixed")
	s.awaitServed(t, late, "http:80->20000")
	s.awaitServed(t, web, "http:80->20001")
	s.awaitTold(t, mux, "Normal MuxUnfrozen ", "this mux is read-only")
	s.run.awaitSeries(t, mux.Name, "svc_lb_mux_frozen 0", "svc_lb_mux_freezes_total 1")
}

// refusedPorts sets a policy that denies some numbers on the mux. A channel that asks for one keeps its present port,
// and doesn't block other channels. If others remove a port whose number is denied, it can't be restored, but its
// channel keeps the number.
func (s cases) refusedPorts(t *testing.T) {
	mux := s.mux(t, "picky")
	s.awaitServed(t, s.channel(t, "picky", "stays", mux, port("http", 8000, "TCP")), "http:8000->8000")
	web := s.channel(t, "picky", "web", mux, port("http", 8080, "TCP"))
	s.awaitServed(t, web, "http:8080->8080")
	s.Apply(t, policy(mux, "object.spec.ports.all(p, p.port < 9000)", "no port from 9000 on"))
	s.awaitDenied(t, mux, `{"spec":{"ports":[{"name":"x","port":9999}]}}`)
	bare := s.ever(t, mux, func(svc *corev1.Service) bool { return !hasPort(svc, 8080) })
	s.annotate(t, web, "external-ports", "http:9000")
	s.awaitShown(t, web, "http:8080->8080", "False MuxPatchRefused")
	var bad, good []types.NamespacedName
	for i := range int32(7) {
		bad = append(bad, s.channel(t, "picky", fmt.Sprintf("a-bad-%d", i), mux, port("http", 9001+i, "TCP")))
		good = append(good, s.channel(t, "picky", fmt.Sprintf("good-%d", i), mux, port("http", 8001+i, "TCP")))
	}
	for i, channel := range good {
		s.awaitServed(t, channel, fmt.Sprintf("http:%[1]d->%[1]d", 8001+i))
	}
	for _, channel := range bad {
		s.awaitRefused(t, channel, "MuxPatchRefused")
	}
	if bare() {
		t.Error("the refused channel lost its present port")
	}

	s.Apply(t, policy(mux, "object.spec.ports.all(p, p.port != 8080 && p.port < 9000)", "not any more"))
	s.awaitDenied(t, mux, `{"metadata":{"labels":{"a":"b"}}}`)
	s.annotate(t, web, "external-ports", "http:8080")
	s.patch(t, mux, map[string]any{"spec": map[string]any{"ports": []map[string]any{{"name": "other", "port": 7000}}}})
	s.awaitCondition(t, web, "Programmed", "False MuxPatchRefused")
	s.awaitTold(t, web, "Warning MuxPatchRefused ", "8080/TCP was taken off the mux", "not any more",
		"stays this channel's")
	s.awaitServed(t, good[0], "http:8001->8001")
	late := s.channel(t, "picky", "late", mux, port("http", 8080, "TCP"))
	s.awaitRefused(t, late, "MuxPortConflict")
	s.Kubectl(t, "delete", "validatingadmissionpolicybinding,validatingadmissionpolicy", "picky")
	s.awaitServed(t, web, "http:8080->8080")
	s.awaitServed(t, bad[0], "http:9001->9001")
}

// refusedNames sets a policy that denies a DNS name on the mux. Ports still come and go. Names do, too, once no channel
// asks for the denied name.
func (s cases) refusedNames(t *testing.T) {
	mux := s.mux(t, "named")
	web := s.channel(t, "named", "web", mux)
	s.awaitServed(t, web, "http:80->20000")
	const hostname = validation.FormerHostname
	s.Apply(t, policy(mux, fmt.Sprintf("!('%[1]s' in object.metadata.annotations && "+
		"object.metadata.annotations['%[1]s'].contains('evil'))", hostname),
		"no such name"))
	s.awaitDenied(t, mux, fmt.Sprintf(`{"metadata":{"annotations":{"%s":"evil"}}}`, hostname))
	s.annotate(t, web, "external-dns-hostname", "evil.example.com")
	s.toldOnce(t, mux, "Warning MuxPatchRefused ", "the DNS names", "no such name")
	late := s.channel(t, "named", "late", mux)
	s.awaitServed(t, late, "http:80->20001")
	s.annotate(t, late, "disabled", "true")
	s.awaitPublic(t, mux, "20000/TCP")
	s.annotate(t, web, "external-dns-hostname", "nice.example.com")
	s.eventually(t, "the mux has the name", func() bool {
		return s.get(t, mux).Annotations[hostname] == "nice.example.com"
	})
	s.awaitServed(t, web, "http:80->20000")
}

// refusedStatus sets a policy that denies status writes of one channel. Its ports stay while it shows the address, and
// other channels are served.
func (s cases) refusedStatus(t *testing.T) {
	mux := s.mux(t, "mute")
	web := s.channel(t, "mute", "web", mux)
	s.awaitServed(t, web, "http:80->20000")
	s.Apply(t, strings.ReplaceAll(policy(web, "false", "its status is read-only"), "[services]", "[services/status]"))
	s.awaitDenied(t, web, `{"status":{"conditions":null}}`, "status")
	s.annotate(t, web, "disabled", "true")
	for i := range 3 {
		s.awaitServed(t, s.channel(t, "mute", fmt.Sprintf("late-%d", i), mux), fmt.Sprintf("http:80->%d", 20001+i))
	}
	s.awaitPublic(t, mux, "20000/TCP", "20001/TCP", "20002/TCP", "20003/TCP")
	s.Kubectl(t, "delete", "validatingadmissionpolicybinding,validatingadmissionpolicy", "web")
	s.awaitCondition(t, web, "Programmed", "False Disabled")
	s.awaitPublic(t, mux, "20001/TCP", "20002/TCP", "20003/TCP")
}

// policyAgainst denies all writes of a mux except of its status.
func policyAgainst(mux types.NamespacedName) string {
	return policy(mux, "false", "this mux is read-only")
}

// policy denies all writes of a Service unless an expression is true.
func policy(mux types.NamespacedName, unless, message string) string {
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
  validations: [{expression: "` + unless + `", message: ` + message + `}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: ` + mux.Name + `}
spec: {policyName: ` + mux.Name + `, validationActions: [Deny]}
`
}

// awaitDenied waits until a policy denies a patch.
func (s *scene) awaitDenied(t *testing.T, service types.NamespacedName, patch string, subresources ...string) {
	t.Helper()
	cluster.Eventually(t, "the policy is in force", func(ctx context.Context) error {
		_, err := s.user.CoreV1().Services(service.Namespace).Patch(ctx, service.Name, types.MergePatchType, []byte(patch),
			metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}}, subresources...)
		if err == nil {
			return errors.New("the patch is allowed")
		}
		return nil
	})
}

// awaitTriedAgain waits until writes of an object were refused a number of times.
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

// of returns whether a request is about an object. A create has the name only in its body.
func of(r faults.Request, resource string, key types.NamespacedName) bool {
	return r.Resource == resource && r.Subresource == "" && r.Namespace == key.Namespace &&
		(r.Name == key.Name || r.Verb == "create")
}

// toldOnce waits for an Event, which must be the only one.
func (s *scene) toldOnce(t *testing.T, about types.NamespacedName, words ...string) {
	t.Helper()
	s.awaitTold(t, about, words...)
	if told := having(s.events(t, about), words[0]); len(told) != 1 || !strings.Contains(told[0], " 1: ") {
		t.Errorf("want one Event, got %v", told)
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
		return errors.New("the message is another one")
	})
}

// ever watches a Service. The returned function says whether the condition was true at any time.
func (s *scene) ever(t *testing.T, service types.NamespacedName, so func(*corev1.Service) bool) func() bool {
	t.Helper()
	watch, err := s.user.CoreV1().Services(service.Namespace).Watch(t.Context(),
		metav1.ListOptions{FieldSelector: "metadata.name=" + service.Name})
	if err != nil {
		t.Fatal(err)
	}
	seen := make(chan bool, 1)
	go func() {
		was := false
		for event := range watch.ResultChan() {
			svc, ok := event.Object.(*corev1.Service)
			was = was || ok && so(svc)
		}
		seen <- was
	}()
	return func() bool {
		watch.Stop()
		return <-seen
	}
}

func hasPort(svc *corev1.Service, number int32) bool {
	return slices.ContainsFunc(svc.Spec.Ports, func(p corev1.ServicePort) bool { return p.Port == number })
}
