package admission

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	webhookName = release + "-webhook"
	team        = "team-w"
)

// testWebhook tests which requests the API server sends to the webhook. The webhook here allows everything, and records
// the requests.
func testWebhook(t *testing.T, w world) {
	hook := serveWebhook(t, w)
	w.Apply(t, patient(w.render(t, "webhook-configuration.yaml", trusting(hook.ca)...)))
	w.namespace(t, team)
	waitForWebhook(t, w, hook)

	t.Run("every change of a mux or a channel is reviewed", func(t *testing.T) { asked(t, w, hook) })
	t.Run("nothing else is reviewed", func(t *testing.T) { notAsked(t, w, hook) })
	t.Run("the reconciler's writes aren't reviewed", func(t *testing.T) { notAskedByReconciler(t, w, hook) })
	t.Run("objects that are being deleted aren't reviewed", func(t *testing.T) { notAskedWhileDeleting(t, w, hook) })
	t.Run("during an outage", func(t *testing.T) { whileDown(t, w, hook) })
	w.Kubectl(t, "delete", "validatingwebhookconfiguration", clusterName)
}

func asked(t *testing.T, w world, hook *webhook) {
	for name, svc := range map[string]*corev1.Service{"channel": aChannel("channel"), "mux": aMux("mux"),
		"malformed class": withClass("malformed", prefix), "mistaken mux": service("mistaken", func(svc *corev1.Service) {
			svc.Annotations = map[string]string{prefix + "/multiplexer": ""}
		})} {
		t.Run(name, func(t *testing.T) {
			steps := everyVerb(user{w: w, name: svc.Name}, svc)
			of := func(operation string) []string { return []string{operation + " services " + team + "/" + svc.Name} }
			for i := range steps {
				switch {
				case strings.Contains(steps[i].what, "status"), strings.HasSuffix(steps[i].what, idle):
				case steps[i].what == "create":
					steps[i].want = of("CREATE")
				case steps[i].what == "delete":
					if strings.Contains(svc.Name, "mux") || svc.Name == "mistaken" {
						steps[i].want = of("DELETE") // the deletion of a channel affects no others
					}
				default:
					steps[i].want = of("UPDATE")
				}
			}
			run(t, hook, steps)
		})
	}
	t.Run("a Service that becomes a channel, and an ordinary Service again", func(t *testing.T) {
		u, update := user{w: w, name: "turncoat"}, []string{"UPDATE services " + team + "/turncoat"}
		class := prefix + "/mux"
		run(t, hook, []step{
			{what: "a stranger is made", do: u.create(service("turncoat", func(*corev1.Service) {}))},
			{what: "it becomes a channel", want: update, do: u.update(func(svc *corev1.Service) {
				svc.Spec.Type, svc.Spec.LoadBalancerClass = corev1.ServiceTypeLoadBalancer, &class
			})},
			{what: "it becomes a stranger again", want: update, do: u.update(func(svc *corev1.Service) {
				svc.Spec.Type, svc.Spec.LoadBalancerClass = corev1.ServiceTypeClusterIP, nil
			})},
			{what: "it stays one", do: u.update(annotation("stays"))},
			{what: "it becomes a mux", want: update,
				do: u.patch(`{"metadata":{"annotations":{"` + prefix + `/multiplexer":"true"}}}`)},
			{what: "it is no mux any more", want: update, do: u.patch(`{"metadata":{"annotations":null}}`)},
			{what: "it goes", do: u.remove},
		})
	})
}

func notAsked(t *testing.T, w world, hook *webhook) {
	for _, svc := range strangers() {
		t.Run(svc.Name, func(t *testing.T) { run(t, hook, everyVerb(user{w: w, name: svc.Name}, svc)) })
	}
	t.Run("other kinds", func(t *testing.T) {
		const others = `
apiVersion: v1
kind: ConfigMap
metadata: {name: other, namespace: ` + team + `, annotations: {` + prefix + `/multiplexer: "true"}}
---
apiVersion: v1
kind: Pod
metadata: {name: other, namespace: ` + team + `, annotations: {` + prefix + `/multiplexer: "true"}}
spec: {containers: [{name: none, image: none}]}
---
apiVersion: v1
kind: Endpoints
metadata: {name: other, namespace: ` + team + `, annotations: {` + prefix + `/multiplexer: "true"}}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: other, namespace: ` + team + `, annotations: {` + prefix + `/multiplexer: "true"}}
addressType: IPv4
endpoints: []
---
apiVersion: coordination.k8s.io/v1
kind: Lease
metadata: {name: other, namespace: ` + team + `, annotations: {` + prefix + `/multiplexer: "true"}}
`
		w.Apply(t, others)
		for _, kind := range []string{"configmap", "pod", "endpoints", "endpointslice", "lease"} {
			w.Kubectl(t, "-n", team, "label", kind, "other", "a=b")
			w.Kubectl(t, "-n", team, "delete", kind, "other", "--now")
		}
		hook.expect(t, "other kinds are made, changed and deleted")
	})
}

func notAskedByReconciler(t *testing.T, w world, hook *webhook) {
	for _, svc := range []*corev1.Service{aChannel("own-channel"), aMux("own-mux")} {
		run(t, hook, everyVerb(user{w: w, as: reconciler, name: svc.Name}, svc))
	}
}

func notAskedWhileDeleting(t *testing.T, w world, hook *webhook) {
	u := user{w: w, name: "going"}
	svc := aMux("going")
	svc.Finalizers = []string{"example.com/held"}
	of := func(operation string) []string { return []string{operation + " services " + team + "/going"} }
	run(t, hook, []step{
		{what: "a mux with a finalizer is made", do: u.create(svc), want: of("CREATE")},
		{what: "it is deleted", do: u.remove, want: of("DELETE")},
		{what: "it is deleted again", do: u.remove},
		{what: "it is changed while it goes", do: u.update(annotation("going"))},
		{what: "its finalizer is removed", do: u.patch(`{"metadata":{"finalizers":null}}`)},
	})
	if _, err := u.services().Get(t.Context(), "going", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("the Service still exists: %v", err)
	}
}

func whileDown(t *testing.T, w world, hook *webhook) {
	for _, svc := range []*corev1.Service{aChannel("incumbent"), aChannel("foreground"), aMux("incumbent-mux")} {
		if err := (user{w: w}).create(svc)(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	hook.take()
	if err := hook.server.Close(); err != nil {
		t.Fatal(err)
	}
	t.Run("a new channel gets the API server's clear refusal", func(t *testing.T) {
		const want = `failed calling webhook "change.services.` + prefix + `"`
		err := user{w: w}.create(aChannel("new"))(t.Context())
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	})
	for _, svc := range strangers() {
		t.Run(svc.Name, func(t *testing.T) { run(t, hook, everyVerb(user{w: w, name: svc.Name}, svc)) })
	}
	t.Run("the reconciler", func(t *testing.T) {
		for _, name := range []string{"incumbent", "incumbent-mux"} {
			u := user{w: w, as: reconciler, name: name}
			run(t, hook, []step{{what: "patch", do: u.patch(annotationPatch)},
				{what: "patch of its status", do: u.patch(statusPatch, "status")}})
		}
	})
	t.Run("a request that changes nothing is allowed, such as a helm upgrade", func(t *testing.T) {
		for _, name := range []string{"incumbent", "incumbent-mux"} {
			run(t, hook, idleVerbs(user{w: w, name: name}))
		}
	})
	t.Run("a change is refused", func(t *testing.T) { refusedWhileDown(t, w) })
	t.Run("foreground deletion of a channel works", func(t *testing.T) {
		started := time.Now()
		w.Kubectl(t, "-n", team, "delete", "service", "foreground", "--cascade=foreground", "--timeout=120s")
		t.Logf("the deletion took %v", time.Since(started).Round(time.Millisecond))
	})
	t.Run("muxes and channels can be deleted", func(t *testing.T) {
		for _, name := range []string{"incumbent", "incumbent-mux"} {
			run(t, hook, []step{{what: name, do: user{w: w, name: name}.remove}})
		}
	})
}

// refusedWhileDown changes one reviewed field at a time.
func refusedWhileDown(t *testing.T, w world) {
	port := func(svc *corev1.Service) { svc.Spec.Ports[0].Port++ }
	for name, changes := range map[string]map[string]func(*corev1.Service){
		"incumbent": { // the reconciler has annotated it
			"a port": port, "a new annotation": annotation("new"),
			"no annotations": func(svc *corev1.Service) { svc.Annotations = nil },
			"the type": func(svc *corev1.Service) {
				svc.Spec.Type, svc.Spec.LoadBalancerClass = corev1.ServiceTypeClusterIP, nil
			},
		},
		"foreground": {"a port": port, "a first annotation": annotation("first")}, // it has no annotations
		"incumbent-mux": {"its port": port, "a setting": func(svc *corev1.Service) {
			svc.Annotations[prefix+"/port-range"] = "20000-20099"
		}, "its value": func(svc *corev1.Service) { svc.Annotations[prefix+"/multiplexer"] = "false" }},
	} {
		for what, change := range changes {
			err := user{w: w, name: name}.update(change)(t.Context())
			if err == nil || !strings.Contains(err.Error(), "failed calling webhook") {
				t.Errorf("%s: a change of %s is allowed during the outage: %v", name, what, err)
			}
		}
	}
}
