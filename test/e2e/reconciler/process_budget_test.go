package reconciler

import (
	"fmt"
	"testing"
	"time"

	reconciler "nowake.ai/svc-lb-mux/reconciler/run"
)

// TestPortChangesOfANamespaceHaveABudget changes a channel's number again and again. When its namespace has used up its
// burst, the next change waits. A new channel of another namespace and a deletion in the same namespace don't.
func TestPortChangesOfANamespaceHaveABudget(t *testing.T) {
	t.Parallel()
	const burst, pace = 3, 20 * time.Second
	s := newScene(t)
	mux := s.mux(t, "mux")
	web, gone := s.channel(t, "restless", "web", mux), s.channel(t, "restless", "gone", mux, port("http", 443, "TCP"))
	s.awaitServed(t, web, "http:80->20000")
	s.awaitServed(t, gone, "http:443->443")
	s.run.stop()
	s.run = s.again(t, func(p *reconciler.Process) { // it begins with a full burst
		p.Options.PortChangesBurst, p.Options.PortChangesPace = burst, pace
	})

	began := time.Now()
	for i := range burst {
		s.annotate(t, web, "external-ports", fmt.Sprintf("http:%d", 30000+i))
		s.awaitServed(t, web, fmt.Sprintf("http:80->%d", 30000+i))
	}
	s.annotate(t, web, "external-ports", "http:30003")
	s.awaitShown(t, web, "http:80->30002", "False PortChangesLimited")
	s.awaitMessage(t, web, "Accepted",
		"channels of namespace restless change their ports on the mux svc-mux/mux too often")
	s.awaitTold(t, web, "Warning PortChangesLimited ")

	calm := s.channel(t, "calm", "web", mux)
	s.awaitServed(t, calm, "http:80->20000")
	s.delete(t, gone)
	s.awaitPublic(t, mux, "20000/TCP", "30002/TCP")
	if took := time.Since(began); took > pace {
		t.Logf("NOT COVERED, because the machine was too slow, after %s: that others weren't delayed", took)
	} else {
		s.awaitShown(t, web, "http:80->30002", "False PortChangesLimited") // it waits still
	}
	s.awaitServed(t, web, "http:80->30003")
}
