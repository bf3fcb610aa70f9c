package reconciler

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/test/cluster/faults"
)

// restless edits a channel that must lose a port each time just before the reconciler reads it live. The live read
// counts, so the channel gets what it asks for, and other channels don't wait for it.
func (s cases) restless(t *testing.T) {
	const namespace = "restless"
	mux := s.mux(t, namespace)
	web := s.channel(t, namespace, "web", mux, port("http", 80, "TCP"), port("more", 81, "TCP"),
		asks("http:8000,more:8001"))
	s.awaitServed(t, web, "http:80->8000, more:81->8001")
	changes := 0 // live reads come one at a time
	looks := s.proxy.Add(faults.Rule{
		Name:  "it changes again",
		Match: faults.Match{Verbs: []string{"get"}, Resource: "services", Namespace: namespace, Name: web.Name},
		Do: faults.Notify(func(step faults.Step) {
			if step.Phase != faults.Before {
				return
			}
			changes++
			patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:"n%d.example.com"}}}`, prefix+"/external-dns-hostname",
				changes)
			if _, err := s.user.CoreV1().Services(namespace).
				Patch(t.Context(), web.Name, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
				t.Error(err)
			}
		}),
	})
	defer looks.Remove()
	s.annotate(t, web, "external-ports", "http:8000,more:9001")
	if err := looks.Wait(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	late := s.channel(t, namespace, "late", mux, port("http", 80, "TCP"), asks("http:8002"))
	s.awaitServed(t, late, "http:80->8002")
	s.awaitServed(t, web, "http:80->8000, more:81->9001")
	s.awaitPublic(t, mux, "8000/TCP", "8002/TCP", "9001/TCP")
}
