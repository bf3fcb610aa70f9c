package restraint

import (
	"context"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nowake.ai/svc-lb-mux/test/cluster/cluster"
)

const (
	events = "/api/v1/namespaces/team/events"
	leases = "/apis/coordination.k8s.io/v1/namespaces/" + namespace + "/leases"

	aboutWeb   = `involvedObject: {apiVersion: v1, kind: Service, name: web, namespace: team}`
	reportedBy = `type: Warning, reason: Tried, source: {component: svc-lb-mux}, reportingComponent: svc-lb-mux`
)

func event(body string) string {
	return `{apiVersion: v1, kind: Event, metadata: {name: mine}, ` + body + `}`
}

func eventAbuses() map[string]attempt {
	return map[string]attempt{
		"an Event about a Pod": {do: "POST " + events, want: "an Event about Pod web: it tells of Services",
			body: event(`involvedObject: {apiVersion: v1, kind: Pod, name: web, namespace: team}, ` + reportedBy)},
		"an Event about a foreign lease": {do: "POST /api/v1/namespaces/" + namespace + "/events",
			want: "an Event about Lease theirs",
			body: event(`involvedObject: {apiVersion: coordination.k8s.io/v1, kind: Lease, name: theirs, namespace: ` +
				namespace + `}, ` + reportedBy)},
		"an Event about a foreign configuration": {do: "POST /api/v1/namespaces/default/events",
			want: "an Event about ValidatingWebhookConfiguration theirs",
			body: event(
				`involvedObject: {apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingWebhookConfiguration, ` +
					`name: theirs}, ` + reportedBy)},
		"an Event in the name of another controller": {do: "POST " + events,
			want: "an Event that service-controller (service-controller) reports",
			body: event(aboutWeb +
				`, type: Warning, reason: Tried, source: {component: service-controller}, reportingComponent: service-controller`)},
		"an Event with another source": {do: "POST " + events, want: "an Event that svc-lb-mux (kubelet) reports",
			body: event(aboutWeb +
				`, type: Warning, reason: Tried, source: {component: kubelet}, reportingComponent: svc-lb-mux`)},
		"an Event of an unknown type": {do: "POST " + events, want: "an Event of type Error: it writes Normal and Warning",
			body: event(aboutWeb +
				`, type: Error, reason: Tried, source: {component: svc-lb-mux}, reportingComponent: svc-lb-mux`)},
		"an Event through the newer API": {as: wide, do: "POST /apis/events.k8s.io/v1/namespaces/team/events",
			want: "an Event about Pod web",
			body: `{apiVersion: events.k8s.io/v1, kind: Event, metadata: {name: mine}, eventTime: "2026-01-01T00:00:00.000000Z",
				type: Warning, reason: Tried, action: Try, reportingController: svc-lb-mux, reportingInstance: one,
				regarding: {apiVersion: v1, kind: Pod, name: web, namespace: team}}`},
		"a rewrite of another controller's Event": {do: "PATCH " + events + "/web.theirs", body: `{message: mine}`,
			want: "service-controller (service-controller), then service-controller"},
		"taking over another controller's Event": {do: "PATCH " + events + "/web.theirs",
			body: `{source: {component: svc-lb-mux}, reportingComponent: svc-lb-mux}`,
			want: "service-controller (service-controller), then svc-lb-mux"},
		"an Event is deleted": {as: wide, do: "DELETE " + events + "/web.theirs",
			want: "never asks to DELETE events such as team/web.theirs"},
	}
}

func eventUses() map[string]attempt {
	return map[string]attempt{
		"an Event about a Service": {do: "POST " + events, body: event(aboutWeb + `, ` + reportedBy)},
		"a sum of Events": {do: "POST " + events,
			body: event(aboutWeb + `, type: Normal, reason: Tried, source: {component: svc-lb-mux}`)},
		"an Event is counted": {do: "PATCH " + events + "/web.ours", body: `{count: 2}`},
		"an Event about the lease, by the leader election": {do: "POST /api/v1/namespaces/" + namespace + "/events",
			body: event(`involvedObject: {apiVersion: coordination.k8s.io/v1, kind: Lease, name: ` + usual + `, namespace: ` +
				namespace + `},
				type: Normal, reason: LeaderElection, source: {component: pod_0}, reportingComponent: pod_0`)},
		"an Event about the configuration": {do: "POST /api/v1/namespaces/default/events",
			body: event(`involvedObject: {apiVersion: admissionregistration.k8s.io/v1, ` +
				`kind: ValidatingWebhookConfiguration, name: ` + usual + `.` + namespace + `}, ` + reportedBy)},
	}
}

func lease(name, more string) string {
	return `{apiVersion: coordination.k8s.io/v1, kind: Lease, metadata: {name: ` + name + more +
		`}, spec: {holderIdentity: pod_0}}`
}

func leaseAbuses() map[string]attempt {
	return map[string]attempt{
		"a lease of another name": {do: "POST " + leases, body: lease("mine", ""),
			want: "Lease svc-mux/mine: its lease is svc-mux/svc-mux"},
		"a lease with finalizers": {do: "POST " + leases, body: lease(usual, ", finalizers: [example.com/mine]"),
			want: "the owners or finalizers of Lease svc-mux/svc-mux"},
		"a node's lease": {as: wide, do: "POST /apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases",
			body: lease(wide, ""),
			want: "Lease kube-node-lease/" + wide},
		"a foreign lease is taken": {as: wide, do: "PATCH " + leases + "/theirs", body: `{spec: {holderIdentity: mine}}`,
			want: "UPDATE Lease svc-mux/theirs"},
		"a foreign lease is deleted": {as: wide, do: "DELETE " + leases + "/theirs",
			want: "never asks to DELETE leases such as svc-mux/theirs"},
		"an owner reference on the lease": {as: wide, do: "PATCH " + leases + "/" + wide,
			body: `{metadata: {ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: none, ` +
				`uid: 00000000-0000-0000-0000-000000000009}]}}`,
			want: "the owners or finalizers of Lease svc-mux/" + wide},
	}
}

func leaseUses() map[string]attempt {
	return map[string]attempt{
		"the lease is created": {do: "POST " + leases, body: lease(usual, "")},
		"the lease is renewed": {as: wide, do: "PATCH " + leases + "/" + wide, body: `{spec: {holderIdentity: pod_0}}`},
	}
}

// farewell deletes the release's namespace. From then on the reconciler may delete the webhook's configuration.
func farewell(t *testing.T, w *world) {
	deletion := attempt{as: wide, do: "DELETE " + webhooks + "/" + wide + "." + namespace}
	if err := w.send(t.Context(), deletion); err == nil {
		t.Fatal("the configuration can be deleted while its namespace exists")
	}
	if err := w.Client.CoreV1().Namespaces().Delete(t.Context(), namespace, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	cluster.Eventually(t, "the configuration can be deleted", func(ctx context.Context) error {
		return w.send(ctx, deletion)
	})
}
