package services

import (
	"errors"
	"fmt"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"

	"nowake.ai/svc-lb-mux/reconciler/budget"
)

// TestRefusedStatusIsAnEventOnTheMux: once for each channel that the API server refuses, and not for errors that pass
// by themselves.
func TestRefusedStatusIsAnEventOnTheMux(t *testing.T) {
	key := func(name string) types.NamespacedName { return types.NamespacedName{Namespace: "shop", Name: name} }
	refusal := forbidden("the annotation a.example.com/b: name its key in restraint.tolerate")
	passing := apierrors.NewTooManyRequests("busy", 1)
	const text = `Warning MuxPatchRefused the API server doesn't take the status of channel shop/%s; ` +
		`it is tried again until it does: ` +
		`configmaps "mux" is forbidden: the annotation a.example.com/b: name its key in restraint.tolerate`
	for name, test := range map[string]struct {
		failed map[types.NamespacedName]error
		before string
		want   string
	}{
		"one channel": {failed: map[types.NamespacedName]error{key("web"): refusal}, want: fmt.Sprintf(text, "web")},
		"three channels": {failed: map[types.NamespacedName]error{key("web"): refusal, key("api"): refusal,
			key("db"): refusal},
			want: fmt.Sprintf(text, "api and of 2 more channels")},
		"a channel that failed before": {failed: map[types.NamespacedName]error{key("web"): refusal},
			before: "web"},
		"a busy API server": {failed: map[types.NamespacedName]error{key("web"): passing,
			key("api"): errors.New("connection refused")}},
	} {
		t.Run(name, func(t *testing.T) {
			events := record.NewFakeRecorder(2)
			line := newLine(t, answering{})
			line.Events = events
			o := &pass{Line: line, service: service("1"), memory: newMemory(budget.Limit{})}
			o.memory.setbacks.failed(write{itsStatus, key(test.before)}, time.Now())
			o.tellRefused(itsStatus, test.failed)
			close(events.Events)
			if got := <-events.Events; got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}
