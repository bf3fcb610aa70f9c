package reconciler

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	reconciler "nowake.ai/svc-lb-mux/reconciler/run"
	"nowake.ai/svc-lb-mux/test/cluster/cluster"
	"nowake.ai/svc-lb-mux/test/cluster/faults"
)

// TestDryRun has every kind of work: a mux without a ledger, a new channel, a deleted channel, a channel that asks for
// a number that another one is giving up, backends that aren't carried yet, and leftovers of the original.
func TestDryRun(t *testing.T) {
	t.Parallel()
	s := &scene{world: start(t, cluster.APIServerOnly(), cluster.Audit())}
	s.proxy = s.through(t)
	mux, other := s.mux(t, "mux"), s.mux(t, "other")
	stays := s.channel(t, "app", "stays", mux, selectorless)
	goes := s.channel(t, "app", "goes", mux, port("tcp", 8001, "TCP"))
	hides := s.channel(t, "app", "hides", mux, port("tcp", 8002, "TCP"))
	s.backends(t, stays, "stays", "http:8080", "10.0.0.1")
	run := s.reconcile(t)
	s.awaitServed(t, stays, "http:80->20000")
	s.awaitServed(t, goes, "tcp:8001->8001")
	s.awaitServed(t, hides, "tcp:8002->8002")
	s.awaitCarried(t, mux, "20000/TCP 8080: 10.0.0.1")
	s.awaitCondition(t, stays, "BackendsReady", "True HasBackends")
	run.stop()

	s.annotate(t, hides, "disabled", "true")
	s.delete(t, goes)
	s.channel(t, "app", "comes", mux, port("tcp", 8001, "TCP"))
	s.backends(t, s.channel(t, "app", "comes-too", other, selectorless), "comes-too", "http:8080", "10.0.0.2")
	s.backends(t, stays, "stays", "http:8080", "10.0.0.1", "10.0.0.3")
	s.channel(t, "app", "alone", mux, annotated("note", ""), func(svc *corev1.Service) {
		class := prefix
		svc.Spec.LoadBalancerClass = &class
	})
	s.leaveEndpoints(t, s.mux(t, "third"), nil)
	before := s.everythingStored(t)
	dry := s.reconcile(t, func(p *reconciler.Process) {
		p.Config = s.proxy.Config()
		p.Config.UserAgent = "dry"
		p.Options.DryRun = "yes"
	})
	cluster.Eventually(t, "every planned write is printed", func(context.Context) error {
		var missing []error
		for _, want := range []string{
			"mux svc-mux/mux\n", "settle in ledger of svc-mux/mux", "publish on svc-mux/mux: ", "hide app/hides: ",
			"mux svc-mux/other\n", "reserve in ledger of svc-mux/other", "20000/TCP", "show app/comes-too: ",
			"create EndpointSlice svc-mux/", "update EndpointSlice svc-mux/",
			"show app/alone: ", "patch *v1.Endpoints svc-mux/third: ",
		} {
			if !strings.Contains(dry.log.String(), want) {
				missing = append(missing, fmt.Errorf("%q is missing", want))
			}
		}
		return errors.Join(missing...)
	})
	// A wake-up without changes must print nothing.
	for i := range 3 {
		s.annotate(t, mux, "note", fmt.Sprint(i))
		s.annotate(t, other, "note", fmt.Sprint(i))
		s.quiet(t, 1500*time.Millisecond)
	}
	dry.stop()
	paragraphs := strings.Split(dry.log.String(), "dry run: ")[1:]
	for i, paragraph := range paragraphs {
		first, _, _ := strings.Cut(paragraph, "\n")
		if slices.ContainsFunc(paragraphs[:i], func(p string) bool { return strings.HasPrefix(p, first+"\n") }) {
			t.Errorf("printed again: %s", paragraph)
		}
	}
	for line := range strings.Lines(dry.log.String()) {
		if regexp.MustCompile(`^(reserve|settle|publish|hide|show|create|update|delete) [^:]*:\s*$`).MatchString(line) {
			t.Errorf("a line without a reason: %s", line)
		}
	}
	if diff := cmp.Diff(before, s.everythingStored(t)); diff != "" {
		t.Errorf("the dry run wrote objects (-before +after):\n%s", diff)
	}
	s.wroteNothing(t, "dry")
}

// everythingStored lists everything that could have been written, with its version. Managed fields and leases don't
// count.
func (s *scene) everythingStored(t *testing.T) []string {
	t.Helper()
	out := s.Kubectl(t, "get", "configmaps,endpointslices,endpoints,leases", "-n", muxNamespace,
		"-o", `jsonpath={range .items[*]}{.kind} {.metadata.name} {.metadata.resourceVersion}{"\n"}{end}`)
	list, err := s.user.CoreV1().Services("app").List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range list.Items {
		out += fmt.Sprintf("%s %s\n", list.Items[i].Name, list.Items[i].ResourceVersion)
	}
	return strings.Split(out, "\n")
}

// wroteNothing checks the audit log for writes of a user agent.
func (w *world) wroteNothing(t *testing.T, agent string) {
	t.Helper()
	events, err := w.Audited()
	if err != nil {
		t.Fatal(err)
	}
	read := 0
	for _, event := range events {
		if !strings.HasPrefix(event.UserAgent, agent) {
			continue
		}
		if slices.Contains(faults.Writes(), event.Verb) {
			t.Errorf("a dry run sent %s %+v", event.Verb, event.ObjectRef)
		}
		read++
	}
	if read == 0 {
		t.Errorf("%s isn't in the audit log", agent)
	}
}
