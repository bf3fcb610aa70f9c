package reconciler

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"nowake.ai/svc-lb-mux/reconciler/pace"
	"nowake.ai/svc-lb-mux/test/cluster/cluster"
	"nowake.ai/svc-lb-mux/test/cluster/provider"
)

const (
	dnsNames   = "external-dns.alpha.kubernetes.io/hostname"
	dnsProxied = "external-dns.alpha.kubernetes.io/cloudflare-proxied"
	newNames   = "external-dns.kubernetes.io/hostname" // since external-dns 0.22
	newProxied = "external-dns.kubernetes.io/cloudflare-proxied"
)

func (s *scene) awaitAnnotation(t *testing.T, service types.NamespacedName, key, want string) {
	t.Helper()
	if !strings.Contains(key, "/") {
		key = prefix + "/" + key
	}
	cluster.Eventually(t, fmt.Sprintf("%s says %s=%q", service, key, want), func(context.Context) error {
		if got := s.get(t, service).Annotations[key]; got != want {
			return fmt.Errorf("the annotation is %q", got)
		}
		return nil
	})
}

// hostnames checks that the channels' names are added to the mux, beside its owner's own names, and removed with their
// channels.
func (s cases) hostnames(t *testing.T) {
	mux := s.mux(t, "names", annotated(dnsNames, "mux.example.com"))
	a := s.channel(t, "names-a", "web", mux, annotated("external-dns-hostname", "b.example.com,a.example.com"),
		annotated(dnsProxied, "true"))
	s.awaitAnnotation(t, mux, dnsNames, "a.example.com,b.example.com,mux.example.com")
	s.awaitAnnotation(t, mux, dnsProxied, "true")
	s.awaitAnnotation(t, mux, newNames, "a.example.com,b.example.com")
	s.awaitAnnotation(t, mux, newProxied, "true")
	b := s.channel(t, "names-b", "web", mux, annotated("external-dns-hostname", "c.example.com"),
		annotated(dnsProxied, "false"))
	s.awaitAnnotation(t, mux, dnsNames, "a.example.com,b.example.com,c.example.com,mux.example.com")
	s.awaitAnnotation(t, mux, dnsProxied, "false") // true only if all channels say so
	s.awaitAnnotation(t, mux, "aggregated-external-dns",
		"a.example.com,b.example.com,c.example.com,cloudflare-proxied=false")
	s.delete(t, a)
	s.awaitAnnotation(t, mux, dnsNames, "c.example.com,mux.example.com")
	s.annotate(t, mux, dnsProxied, "true") // now the owner's own value
	s.awaitTold(t, mux, "Warning MuxExternalDnsAnnotationConflict ")
	s.delete(t, b)
	s.awaitAnnotation(t, mux, dnsNames, "mux.example.com")
	s.awaitAnnotation(t, mux, dnsProxied, "true")
	s.awaitAnnotation(t, mux, newNames, "")
	s.awaitAnnotation(t, mux, newProxied, "")
}

// hostnameTaken checks that a name stays with the namespace that had it first. Another channel with that name keeps
// everything else.
func (s cases) hostnameTaken(t *testing.T) {
	mux := s.mux(t, "taken", annotated("allowed-hostnames", "*.example.com,*.{namespace}.example.org"))
	first := s.channel(t, "taken-b", "web", mux, annotated("external-dns-hostname", "www.example.com"))
	s.awaitAnnotation(t, mux, dnsNames, "www.example.com")
	second := s.channel(t, "taken-a", "web", mux,
		annotated("external-dns-hostname", "www.example.com,mine.taken-a.example.org"))
	s.awaitShown(t, second, "http:80->20001", "True MuxExternalDnsAnnotationConflict")
	s.awaitTold(t, second, "Warning MuxExternalDnsAnnotationConflict ", "www.example.com", "taken-b")
	s.awaitAnnotation(t, mux, dnsNames, "mine.taken-a.example.org,www.example.com")
	stranger := s.channel(t, "taken-c", "web", mux, annotated("external-dns-hostname", "mine.taken-a.example.org"))
	s.awaitShown(t, stranger, "http:80->20002", "True MuxExternalDnsAnnotationConflict")
	foreign := s.channel(t, "taken-d", "web", mux, annotated("external-dns-hostname", "other.taken-a.example.org"))
	s.awaitShown(t, foreign, "http:80->20003", "True HostnameNotAllowed")
	s.delete(t, first)
	s.awaitServed(t, second, "http:80->20001")
	s.awaitAnnotation(t, mux, dnsNames, "mine.taken-a.example.org,www.example.com")
}

// directNames sets names that external-dns reads from a channel itself. A new channel with a disallowed name gets no
// address, so external-dns can't publish the name. A channel that had the name before keeps its address, and is told.
func (s cases) directNames(t *testing.T) {
	mux := s.mux(t, "direct")
	old := s.channel(t, "direct", "old", mux, annotated(dnsNames, "www.bank.example.com"))
	s.awaitServed(t, old, "http:80->20000")
	s.annotate(t, mux, prefix+"/allowed-hostnames", "*.{namespace}.example.com")
	s.awaitShown(t, old, "http:80->20000", "True HostnameNotAllowed")
	s.awaitTold(t, old, "Warning HostnameNotAllowed ", "www.bank.example.com")
	bank := s.channel(t, "direct", "bank", mux, annotated(dnsNames, "www.bank.example.com"))
	s.awaitRefused(t, bank, "HostnameNotAllowed")
	s.annotate(t, bank, dnsNames, "www.direct.example.com")
	s.awaitServed(t, bank, "http:80->20001")
}

// hugeAnnotations fills a mux's annotations. Channels get their ports without our notes, which are written later.
func (s cases) hugeAnnotations(t *testing.T) {
	mux := s.mux(t, "huge")
	svc := s.get(t, mux)
	used := 0
	for key, value := range svc.Annotations {
		used += len(key) + len(value)
	}
	const most, left = 262_144, 120 // bytes of room: enough for a generation, but not for notes
	s.annotate(t, mux, "example.com/huge", strings.Repeat("x", most-used-len("example.com/huge")-left))
	web := s.channel(t, "huge", "web", mux)
	s.awaitServed(t, web, "http:80->20000")
	s.awaitTold(t, mux, "Warning MuxPatchRefused ", "annotations")
	api := s.channel(t, "huge", "api", mux, port("https", 443, "TCP"))
	s.awaitServed(t, api, "https:443->443")
	s.delete(t, web)
	s.awaitPublic(t, mux, "443/TCP")
	s.awaitAnnotation(t, mux, "summary", "")
	s.awaitTold(t, mux, "Normal MuxPortsChanged ", "added 20000/TCP")
	s.eventually(t, "it has been tried again", func() bool { return s.refusals(mux) >= 2 })
	s.quiet(t, 500*time.Millisecond) // until a possible Event would be written
	if told := having(s.events(t, mux), "MuxPatchRefused"); len(told) != 1 || !strings.Contains(told[0], " 1: ") {
		t.Errorf("want one Event, got %v", told)
	}
	if told := having(s.events(t, mux), "MuxAnnotationsUpdated"); len(told) > 0 {
		t.Errorf("an Event says that annotations are up to date: %v", told)
	}
	s.annotate(t, mux, "example.com/huge", "")
	s.awaitAnnotation(t, mux, "summary", "1 channel(s) | 1 port(s)")
}

// refusals counts the writes of a Service that the API server refused as invalid.
func (s *scene) refusals(service types.NamespacedName) int {
	count := 0
	for _, entry := range s.proxy.Log() {
		if writesOf(service)(entry.Request) && entry.Status == http.StatusUnprocessableEntity {
			count++
		}
	}
	return count
}

// declared checks that the placeholder stays where a tool declares it, so that tools see no difference.
func (s cases) declared(t *testing.T) {
	manifest := func(name, more string) string {
		return `
apiVersion: v1
kind: Service
metadata:
  name: ` + name + `
  namespace: svc-mux
  annotations: {svc-mux.nowake.ai/multiplexer: "true", svc-mux.nowake.ai/port-range: "20000-20099"` + more + `}
spec:
  type: LoadBalancer
  allocateLoadBalancerNodePorts: false
  ports: [{name: placeholder, port: 101, protocol: TCP, targetPort: 101}]
`
	}
	for _, way := range []struct{ name, more, apply, public string }{
		{"by-apply", "", "", "101/TCP 20000/TCP"},
		{"by-server-side", "", "--server-side", "101/TCP 20000/TCP"},
		{"by-apply-removed", `, svc-mux.nowake.ai/placeholder: "remove"`, "", "20000/TCP"},
	} {
		text := manifest(way.name, way.more)
		apply := []string{"apply", "-f", "-"}
		if way.apply != "" {
			apply = append(apply, way.apply)
		}
		s.kubectl(t, text, apply...)
		mux := types.NamespacedName{Namespace: muxNamespace, Name: way.name}
		web := s.channel(t, "declared", way.name, mux)
		s.awaitServed(t, web, "http:80->20000")
		s.awaitPublic(t, mux, strings.Fields(way.public)...)
		if strings.HasSuffix(way.name, "removed") {
			continue
		}
		diff := []string{"diff", "-f", "-"}
		if way.apply != "" {
			diff = append(diff, way.apply)
		}
		before := s.get(t, mux).ResourceVersion
		s.kubectl(t, text, diff...)
		s.kubectl(t, text, apply...)
		if now := s.get(t, mux); now.ResourceVersion != before {
			t.Errorf("%s: a second apply changed the mux: %v", way.name, now.Spec.Ports)
		}
		// Another tool that applies the same must not conflict.
		s.kubectl(t, text, "apply", "--server-side", "--field-manager=another", "--dry-run=server", "-f", "-")
		s.awaitServed(t, web, "http:80->20000")
	}
	created, kept := s.mux(t, "by-create"), s.mux(t, "by-create-kept", annotated("placeholder", "keep"))
	s.awaitServed(t, s.channel(t, "declared", "by-create", created), "http:80->20000")
	s.awaitServed(t, s.channel(t, "declared", "by-create-kept", kept), "http:80->20000")
	s.awaitPublic(t, created, "20000/TCP")
	s.awaitPublic(t, kept, "101/TCP", "20000/TCP")
}

func (s *scene) kubectl(t *testing.T, stdin string, args ...string) {
	t.Helper()
	if out, err := s.TryKubectl(t.Context(), stdin, args...); err != nil {
		t.Fatalf("kubectl %v: %v\n%s", args, err, out.Stdout)
	}
}

// drift changes each thing that the reconciler manages: it must be corrected, with an Event that names it.
func (s cases) drift(t *testing.T) {
	mux := s.mux(t, "drift")
	web := s.channel(t, "drift", "web", mux)
	s.backends(t, web, "web-1", "http:8080", "10.0.0.1")
	s.awaitServed(t, web, "http:80->20000")
	s.awaitCarried(t, mux, "20000/TCP 8080: 10.0.0.1")
	is := s.get(t, mux)
	settled := func() {
		t.Helper()
		s.awaitPublic(t, mux, "20000/TCP")
		s.awaitServed(t, web, "http:80->20000")
		s.awaitCarried(t, mux, "20000/TCP 8080: 10.0.0.1")
	}

	s.update(t, mux, func(svc *corev1.Service) {
		svc.Spec.Ports = []corev1.ServicePort{{Name: "mine", Port: 101}, svc.Spec.Ports[0]}
		svc.Spec.Ports[1].Port, svc.Spec.Ports[1].TargetPort.IntVal = 25000, 25000
	})
	s.awaitTold(t, mux, "Normal MuxDriftCorrected ", "added 20000/TCP; removed 25000/TCP")
	s.awaitPublic(t, mux, "101/TCP", "20000/TCP") // the foreign port stays
	s.update(t, mux, func(svc *corev1.Service) {
		svc.Spec.Ports = slices.DeleteFunc(svc.Spec.Ports, func(p corev1.ServicePort) bool { return p.Name == "mine" })
	})
	settled()

	s.annotate(t, mux, "summary", "mine")
	s.awaitAnnotation(t, mux, "summary", is.Annotations[prefix+"/summary"])
	s.annotate(t, mux, "channels", "")
	s.awaitAnnotation(t, mux, "channels", is.Annotations[prefix+"/channels"])

	s.annotate(t, web, "ports", "http:80->1")
	s.awaitTold(t, web, "Normal MuxDriftCorrected ", "ports is \"http:80->20000\"")
	settled()
	// as GitOps tools do
	s.patch(t, web, map[string]any{"status": map[string]any{"loadBalancer": nil, "conditions": nil}}, "status")
	settled()

	slice := s.slicesOn(t, mux)[0]
	if err := s.user.DiscoveryV1().EndpointSlices(muxNamespace).Delete(t.Context(), slice.Name,
		metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	s.awaitCarried(t, mux, "20000/TCP 8080: 10.0.0.1")
	s.awaitTold(t, mux, "MuxDriftCorrected ", slice.Name)
	now := s.slicesOn(t, mux)[0]
	now.Endpoints[0].Addresses[0] = "10.6.6.6"
	s.writeSlice(t, &now)
	s.awaitCarried(t, mux, "20000/TCP 8080: 10.0.0.1")

	s.update(t, mux, func(svc *corev1.Service) { svc.Spec.Ports[0].Name = "mine" })
	s.eventually(t, "the port has its name again", func() bool {
		return s.portName(t, mux, 20000) == is.Spec.Ports[0].Name
	})
	settled()
	if told := having(s.events(t, mux), "MuxEndpoints"); len(told) != 1 || !strings.Contains(told[0], " 1: ") {
		t.Errorf("a first write of backends was reported as drift: %v", told)
	}
}

// repeatedDrift lets another writer undo every correction of a mux. The corrections slow down, and cause one Event.
func (s cases) repeatedDrift(t *testing.T) {
	mux := s.mux(t, "quarrel")
	web := s.channel(t, "quarrel", "web", mux)
	s.awaitServed(t, web, "http:80->20000")
	other := s.channel(t, "quarrel", "other", mux)
	s.awaitServed(t, other, "http:80->20001")
	before := s.writes(writesOf(mux))
	undone := s.react(t, mux, `{"spec":{"ports":[{"port":20000,"protocol":"TCP","$patch":"delete"}]}}`, "",
		func(svc *corev1.Service) bool {
			return slices.Contains(publicOf(svc), "20000/TCP")
		})
	s.eventually(t, "it has been put right three times", func() bool { return s.writes(writesOf(mux)) >= before+3 })
	// A channel whose port is missing says so, and keeps its address.
	s.awaitCondition(t, web, "Programmed", "False Contested")
	if at := address(s.get(t, web)); at == "" {
		t.Error("the channel whose port is removed lost its address, too")
	}
	if is := condition(s.get(t, other), "Programmed"); is != "True Programmed" {
		t.Errorf("the other channel's condition is %s", is)
	}
	// Changes that don't depend on ports continue meanwhile, such as the mux's new address.
	corrected := s.writes(writesOf(mux))
	s.Provider.BehaveTo(mux.String(), provider.Name)
	s.eventually(t, "the channel that has its ports shows the new address", func() bool {
		return strings.HasSuffix(address(s.get(t, other)), ".lb.example.com")
	})
	if now := s.writes(writesOf(mux)); now != corrected {
		t.Errorf("the address was shown only together with the ports")
	}
	inOrder(t, undone())
	if told := having(s.events(t, mux), "MuxDriftCorrected"); len(told) != 1 || !strings.Contains(told[0], " 1: ") {
		t.Errorf("want one Event, got %v", told)
	}
	if told := having(s.events(t, mux), "Contested"); len(told) == 0 {
		t.Error("no Event says until when the port stays missing")
	}
	// A change of the wanted ports isn't a correction: it ends the slow-down.
	late := s.channel(t, "quarrel", "late", mux)
	s.awaitServed(t, late, "http:80->20002")
	s.awaitServed(t, web, "http:80->20000")
}

// repeatedChannelDrift lets another writer give an address to a refused channel, again and again.
func (s cases) repeatedChannelDrift(t *testing.T) {
	mux := s.mux(t, "channel-quarrel", annotated("max-ports", "1"))
	web := s.channel(t, "channel-quarrel", "web", mux)
	s.awaitServed(t, web, "http:80->20000")
	refused := s.channel(t, "channel-quarrel", "refused", mux)
	s.awaitRefused(t, refused, "MuxPortLimitExceeded")
	before := s.writes(writesOf(refused))
	undone := s.react(t, refused, `{"status":{"loadBalancer":{"ingress":[{"ip":"192.0.2.66"}]}}}`, "status",
		func(svc *corev1.Service) bool { return address(svc) == "" })
	s.eventually(t, "it has been put right three times", func() bool { return s.writes(writesOf(refused)) >= before+3 })
	inOrder(t, undone())
	if told := having(s.events(t, refused), "MuxDriftCorrected"); len(told) != 1 || !strings.Contains(told[0], " 1: ") {
		t.Errorf("want one Event, got %v", told)
	}
	s.awaitNothing(t, refused, "False MuxPortLimitExceeded")
}

// inOrder checks that each pause between corrections is twice as long as the pause before. The times are those at which
// the user saw the corrections, so a pause of half that length is tolerated.
func inOrder(t *testing.T, times []time.Time) {
	t.Helper()
	if len(times) < 3 {
		t.Errorf("%d corrections, want 3 or more", len(times))
	}
	for i := 2; i < len(times); i++ {
		if pause, want := times[i].Sub(times[i-1]), pace.FirstPause<<(i-2); pause < want/2 {
			t.Errorf("a correction came %s after the one before, want %s", pause, want)
		}
	}
}

// react patches a Service whenever a condition is true, until the returned function is called. That function returns
// the times of the patches.
func (s *scene) react(t *testing.T, service types.NamespacedName, patch, subresource string,
	so func(*corev1.Service) bool) func() []time.Time {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	all := s.user.CoreV1().Services(service.Namespace)
	watch, err := all.Watch(ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + service.Name})
	if err != nil {
		t.Fatal(err)
	}
	var times []time.Time
	var running sync.WaitGroup
	running.Go(func() {
		done := "0"
		for event := range watch.ResultChan() {
			svc, ok := event.Object.(*corev1.Service)
			if !ok || !so(svc) || isOlder(svc.ResourceVersion, done) {
				continue
			}
			times = append(times, time.Now())
			now, err := all.Patch(ctx, service.Name, types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{},
				subresource)
			if err == nil {
				done = now.ResourceVersion
			} else if ctx.Err() == nil {
				t.Error(err)
			}
		}
	})
	return func() []time.Time {
		cancel()
		watch.Stop()
		running.Wait()
		return times
	}
}

// isOlder returns whether a resource version is older than another.
func isOlder(version, than string) bool {
	order, err := resourceversion.CompareResourceVersion(version, than)
	return err == nil && order < 0
}

// silence checks that a cluster at rest causes no requests, except for the lease, and no decisions. That includes
// refused channels that were retried before.
func (s cases) silence(t *testing.T) {
	mux := s.mux(t, "silence")
	var channels []types.NamespacedName
	for i := range 20 {
		channel := s.channel(t, "silence", fmt.Sprintf("web-%02d", i), mux)
		s.backends(t, channel, channel.Name, "http:8080", "10.0.0.1")
		channels = append(channels, channel)
	}
	orphan := s.channel(t, "silence", "orphan", types.NamespacedName{Namespace: muxNamespace, Name: "no-such-mux"})
	for _, channel := range channels {
		s.awaitCondition(t, channel, "Programmed", "True Programmed")
		s.awaitCondition(t, channel, "BackendsReady", "True HasBackends")
	}
	refused := s.channel(t, "silence", "refused", mux, port("http", 80, "TCP"), asks("http:20000"))
	s.awaitRefused(t, refused, "MuxPortConflict")
	s.awaitRefused(t, orphan, "MuxNotFound")
	s.quiet(t, time.Second)
	before, decided := s.proxy.Snapshot(), s.decisions(t)
	s.quiet(t, 5*time.Second)
	if now := s.decisions(t); now != decided {
		t.Errorf("the number of decisions rose to %s, want %s", now, decided)
	}
	for key, count := range s.proxy.Snapshot().Sub(before) {
		if key.Resource != "leases.coordination.k8s.io" {
			t.Errorf("%d %s %s while nothing changed", count, key.Verb, key.Resource)
		}
	}
}

// decisions returns how often the reconciler has decided about a mux.
func (s *scene) decisions(t *testing.T) string {
	t.Helper()
	address := regexp.MustCompile(`"probeAddress":"([^"]+)"`).FindStringSubmatch(s.run.log.String())
	if address == nil {
		t.Fatal("the log doesn't show the address of the metrics")
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address[1]+"/metrics", nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	count := regexp.MustCompile(`svc_lb_mux_plan_duration_seconds_count (\d+)`).FindSubmatch(body)
	if count == nil {
		t.Fatalf("no metric counts decisions:\n%s", body)
	}
	return string(count[1])
}
