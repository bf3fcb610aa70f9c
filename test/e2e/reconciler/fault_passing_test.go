package reconciler

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/test/cluster/cluster"
	"nowake.ai/svc-lb-mux/test/cluster/faults"
)

// passesByItself lets the patch of a mux fail with temporary errors. The same patch is retried. No channel is told that
// its ports were refused, and the mux isn't written in parts.
func (s *scene) passesByItself(t *testing.T) {
	for name, how := range map[string]faults.Action{
		"busy":    faults.Answer(http.StatusTooManyRequests, faults.RetryAfter(0)),
		"trouble": faults.Answer(http.StatusInternalServerError),
		"away":    faults.Answer(http.StatusServiceUnavailable),
		"late":    faults.Answer(http.StatusGatewayTimeout),
	} {
		mux := s.mux(t, "passing-"+name)
		onMux := func(r faults.Request) bool {
			return r.Verb == "patch" && r.Resource == "services" && r.Subresource == "" && r.Name == mux.Name
		}
		hold := s.proxy.HoldWatches(faults.Match{Resource: "services"})
		one, two := s.channel(t, "passing-"+name, "one", mux), s.channel(t, "passing-"+name, "two", mux)
		if err := hold.Wait(t.Context(), 3); err != nil {
			t.Fatal(err)
		}
		fails := s.proxy.Add(faults.Rule{Match: faults.Match{Func: onMux}, Times: 3, Do: how})
		before := s.writes(onMux)
		hold.Release()
		s.awaitServed(t, one, "http:80->20000")
		s.awaitServed(t, two, "http:80->20001")
		// client-go retries some of the failed patches itself. A write in parts would need two more successful writes
		// for two channels.
		if made := s.writes(onMux) - before; fails.Hits() != 3 || made > 3+2 {
			t.Errorf("%s: %d of %d patches of the mux failed, want at most two that succeed for two channels", name,
				fails.Hits(), made)
		}
		cluster.Eventually(t, "an Event on the mux reports the new ports", func(context.Context) error {
			told := strings.Join(s.events(t, mux), "\n")
			if !strings.Contains(told, "MuxPortsChanged") {
				return errors.New(told)
			}
			return nil
		})
		for _, service := range []types.NamespacedName{one, two, mux} {
			if told := strings.Join(s.events(t, service), "\n"); strings.Contains(told, "MuxPatchRefused") {
				t.Errorf("%s: %s was told of a refusal: %s", name, service, told)
			}
		}
		s.clear(t, one, two, mux)
	}
}
