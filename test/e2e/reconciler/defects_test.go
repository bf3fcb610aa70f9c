package reconciler

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	reconciler "nowake.ai/svc-lb-mux/reconciler/run"
	"nowake.ai/svc-lb-mux/test/cluster/cluster"
	"nowake.ai/svc-lb-mux/test/cluster/faults"
	"nowake.ai/svc-lb-mux/test/cluster/provider"
)

// TestNoneOfTheOriginalsDefects names each defect of the original by its number, and shows that we don't have it.
func TestNoneOfTheOriginalsDefects(t *testing.T) {
	t.Parallel()
	d := defects{cases{newScene(t)}}
	for _, test := range []struct {
		name string
		run  func(*testing.T)
	}{
		{"1 endpoints that are created before their channel are lost", d.endpointsFirst},
		{"2 one endpoint port without a name stops the whole mux", d.unnamedEndpointPort},
		{"3 a request by number takes what an auto channel holds", d.heldByAuto},
		{"4 broken JSON in the ledger withdraws every auto port", d.brokenLedger},
		{"5 a lost ConfigMap moves a port", d.lostLedger},
		{"6 at the cap a newcomer that sorts first evicts an incumbent", d.sortsFirst},
		{"7 annotations exceed the size limit", d.boundedAnnotations},
		{"8 changes are seen only in the next polling round", d.seenAtOnce},
		{"9 deleted Endpoints stay on the mux", d.mirrored},
		{"10 a deleted mux hangs, and its channels keep the address", d.muxGoesAtOnce},
		{"11 channels of a missing mux slow healthy ones down", d.missingMux},
		{"13 a conflict causes Events again and again", d.conflictToldOnce},
		{"14 a released number is assigned to another channel at once", d.grace},
		{"14 a channel that becomes ClusterIP keeps its annotation", d.detach},
	} {
		t.Run(test.name, func(t *testing.T) {
			if !strings.HasPrefix(test.name, "13 ") {
				t.Parallel()
			}
			test.run(t)
		})
	}
}

// TestRestartAndUninstall has the defects that concern a restart, or the end of the reconciler.
func TestRestartAndUninstall(t *testing.T) {
	t.Parallel()
	d := defects{cases{newScene(t)}}
	mux := d.mux(t, "restart")
	for i := range 10 {
		channel := d.channel(t, "restart", fmt.Sprintf("web-%d", 9-i), mux,
			annotated("external-dns-hostname", fmt.Sprintf("%d.example.com", i)))
		d.backends(t, channel, channel.Name, "http:8080", "10.0.0.1")
		d.awaitCondition(t, channel, "BackendsReady", "True HasBackends")
	}
	loser := d.channel(t, "restart", "loser", mux, port("http", 20000, "TCP"))
	d.awaitRefused(t, loser, "MuxPortConflict")
	orphan := d.channel(t, "restart", "orphan", types.NamespacedName{Namespace: muxNamespace, Name: "nowhere"})
	d.awaitRefused(t, orphan, "MuxNotFound")
	d.quiet(t, time.Second)

	t.Run("14 a restart writes the mux again", func(t *testing.T) {
		before, told := d.get(t, mux), append(d.events(t, mux), d.events(t, loser)...)
		d.run.stop()
		since := d.proxy.Snapshot()
		d.run = d.again(t)
		// The new process works once it has handled a new channel.
		web := d.channel(t, "restart", "fresh", d.mux(t, "restart-fresh"))
		d.awaitServed(t, web, "http:80->20000")
		d.quiet(t, time.Second)
		if now := d.get(t, mux); now.ResourceVersion != before.ResourceVersion {
			t.Errorf("the mux was written: %v, %v", now.Annotations, now.Spec.Ports)
		}
		if list := before.Annotations[prefix+"/channels"]; !strings.HasPrefix(list, `["restart/web-0","restart/web-1",`) {
			t.Errorf("channels aren't sorted: %s", list)
		}
		if now := append(d.events(t, mux), d.events(t, loser)...); strings.Join(now, "\n") != strings.Join(told, "\n") {
			t.Errorf("the restart emitted Events again: %v\nwant only: %v", now, told)
		}
		for key, count := range d.proxy.Snapshot().Sub(since).Where(faults.Key.IsWrite) {
			if key.Resource == "services/status" && count > 2 || key.Resource == "endpointslices.discovery.k8s.io" && count > 1 {
				t.Errorf("%d %s %s for one new channel", count, key.Verb, key.Resource)
			}
		}
		d.run.stop()
	})
	t.Run("changes during the downtime are handled", func(t *testing.T) {
		of := func(name string) types.NamespacedName { return types.NamespacedName{Namespace: "restart", Name: name} }
		d.delete(t, of("web-0"))
		d.update(t, of("web-1"), func(svc *corev1.Service) {
			svc.Spec.Type, svc.Spec.LoadBalancerClass = corev1.ServiceTypeClusterIP, nil
			svc.Spec.AllocateLoadBalancerNodePorts = nil
		})
		d.update(t, mux, func(svc *corev1.Service) { svc.Spec.Ports = svc.Spec.Ports[:5] })
		d.delete(t, types.NamespacedName{Namespace: muxNamespace, Name: "restart-fresh"})
		d.run = d.again(t)
		d.awaitBare(t, of("web-1"))
		d.awaitRefused(t, of("fresh"), "MuxNotFound")
		var want, carried []string
		for i := 2; i < 10; i++ {
			_, public, _ := strings.Cut(d.get(t, of(fmt.Sprintf("web-%d", i))).Annotations[prefix+"/ports"], "->")
			want, carried = append(want, public+"/TCP"), append(carried, public+"/TCP 8080: 10.0.0.1")
		}
		slices.Sort(want)
		slices.Sort(carried)
		d.awaitPublic(t, mux, want...)
		d.awaitCarried(t, mux, carried...)
		d.run.stop()
	})
	t.Run("a slow burst is handled as one", func(t *testing.T) {
		const quiet = 2 * time.Second
		d.run = d.again(t, func(p *reconciler.Process) { p.Options.Quiet, p.Options.Longest = quiet, time.Minute })
		slow := d.mux(t, "slow")
		first := d.channel(t, "restart", "slow-first", slow)
		d.awaitServed(t, first, "http:80->20000")
		before := d.writes(writesOf(slow))
		pauses, last := 0, time.Now() // on a busy machine it may become several bursts
		for i := range 50 {
			d.channel(t, "restart", fmt.Sprintf("slow-%02d", i), slow)
			now := time.Now()
			if now.Sub(last) > quiet/2 {
				pauses++
			}
			last = now
		}
		d.awaitCondition(t, types.NamespacedName{Namespace: "restart", Name: "slow-49"}, "Programmed", "True Programmed")
		if got := d.writes(writesOf(slow)) - before; got > 3+pauses {
			t.Errorf("the mux was written %d times, with %d pauses between channels", got, pauses)
		}
		d.run.stop()
	})
	t.Run("12 an uninstall leaves everything hanging on a finalizer", func(t *testing.T) {
		d.run.stop()
		d.delete(t, loser)
		if _, err := d.user.CoreV1().Services(loser.Namespace).
			Get(t.Context(), loser.Name, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			t.Errorf("a deleted channel still exists: %v", err)
		}
		for _, namespace := range []string{"restart", muxNamespace} {
			if err := d.user.CoreV1().Namespaces().Delete(t.Context(), namespace, metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		for _, namespace := range []string{"restart", muxNamespace} {
			cluster.Eventually(t, "namespace "+namespace+" is gone", func(ctx context.Context) error {
				is, err := d.user.CoreV1().Namespaces().Get(ctx, namespace, metav1.GetOptions{})
				if apierrors.IsNotFound(err) {
					return nil
				}
				return errors.Join(err, fmt.Errorf("the namespace still exists: %v", is.Status.Conditions))
			})
		}
	})
}

// defects are cases in addition to those of TestBehaviour.
type defects struct{ cases }

func (d defects) endpointsFirst(t *testing.T) {
	mux := d.mux(t, "first")
	web := types.NamespacedName{Namespace: "first", Name: "web"}
	d.namespace(t, web.Namespace)
	d.backends(t, web, "web-1", "http:8080", "10.0.0.1")
	other := d.channel(t, "first", "other", mux, port("http", 81, "TCP"))
	d.awaitServed(t, other, "http:81->81") // the endpoints were handled before
	d.channel(t, "first", "web", mux, port("http", 80, "TCP"))
	d.awaitServed(t, web, "http:80->80")
	d.awaitCarried(t, mux, "80/TCP 8080: 10.0.0.1")

	late := types.NamespacedName{Namespace: muxNamespace, Name: "first-late"}
	before := d.channel(t, "first", "before", late)
	d.backends(t, before, "before-1", "http:8080", "10.0.0.2")
	d.awaitRefused(t, before, "MuxNotFound")
	d.mux(t, late.Name)
	d.awaitCarried(t, late, "20000/TCP 8080: 10.0.0.2")
}

func (d defects) unnamedEndpointPort(t *testing.T) {
	mux := d.mux(t, "nameless")
	bad, good := d.channel(t, "nameless", "bad", mux, selectorless, port("http", 80, "TCP")), d.channel(t, "nameless",
		"good", mux, port("http", 81, "TCP"))
	d.Apply(t, `
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: bad, namespace: nameless, labels: {kubernetes.io/service-name: bad}}
addressType: IPv4
ports: [{port: 8080}]
endpoints: [{addresses: [10.0.0.1]}]
---
apiVersion: v1
kind: Endpoints
metadata: {name: bad, namespace: nameless}
subsets: [{addresses: [{ip: 192.0.2.1}], ports: [{port: 8080}]}]
`)
	d.awaitServed(t, bad, "http:80->80")
	d.awaitCondition(t, bad, "BackendsReady", "False NoBackends")
	d.backends(t, good, "good", "http:8080", "10.0.0.2")
	d.awaitServed(t, good, "http:81->81")
	d.awaitCarried(t, mux, "81/TCP 8080: 10.0.0.2")
	late := d.channel(t, "nameless", "late", mux)
	d.awaitServed(t, late, "http:80->20000")
}

// boundedAnnotations creates ports whose notes exceed an object's size limit.
func (d defects) boundedAnnotations(t *testing.T) {
	const most = 262_144
	mux := d.mux(t, "bounded")
	said := 0
	want := map[types.NamespacedName]string{}
	for i := range 20 {
		edits := []edit{selectorless}
		var ports []string
		for j := range 200 {
			name := fmt.Sprintf("port-%03d-%s", j, strings.Repeat("x", 54))
			number := int32(1000 + 200*i + j)
			edits = append(edits, port(name, number, corev1.ProtocolTCP))
			ports = append(ports, fmt.Sprintf("%s:%d->%d", name, number, number))
		}
		channel := d.channel(t, "bounded", fmt.Sprintf("web-%02d", i), mux, edits...)
		want[channel] = strings.Join(ports, ", ")
		said += len(want[channel])
	}
	for channel, ports := range want {
		d.awaitServed(t, channel, ports)
	}
	size := 0
	for key, value := range d.get(t, mux).Annotations {
		size += len(key) + len(value)
	}
	if said < most || size > most/2 {
		t.Errorf("of %d bytes, %d are on the mux", said, size)
	}
	if topology := d.get(t, mux).Annotations[prefix+"/topology"]; !strings.Contains(topology, "more") {
		t.Errorf("the note doesn't say that it is shortened: %s", topology)
	}
}

// seenAtOnce checks that changes are handled at once: there are no polling rounds.
func (d defects) seenAtOnce(t *testing.T) {
	mux := d.mux(t, "at-once")
	gone, web := d.channel(t, "at-once", "gone", mux, port("http", 80, "TCP")), d.channel(t, "at-once", "web", mux,
		port("http", 81, "TCP"))
	d.awaitServed(t, gone, "http:80->80")
	d.awaitServed(t, web, "http:81->81")
	d.delete(t, gone)
	d.awaitPublic(t, mux, "81/TCP")
	d.update(t, mux, func(svc *corev1.Service) { svc.Spec.Ports[0].Port = 82 })
	d.awaitPublic(t, mux, "81/TCP")
	d.Provider.BehaveTo(mux.String(), provider.Name)
	d.eventually(t, "the channel shows the new address", func() bool {
		return strings.HasSuffix(address(d.get(t, web)), "at-once.lb.example.com")
	})
	d.awaitServed(t, web, "http:81->81")
}

func (d defects) muxGoesAtOnce(t *testing.T) {
	mux := d.mux(t, "goes")
	web := d.channel(t, "goes", "web", mux)
	d.backends(t, web, "web-1", "http:8080", "10.0.0.1")
	d.awaitServed(t, web, "http:80->20000")
	d.awaitCarried(t, mux, "20000/TCP 8080: 10.0.0.1")
	d.delete(t, mux)
	if _, err := d.user.CoreV1().Services(mux.Namespace).
		Get(t.Context(), mux.Name, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("the mux still exists: %v", err)
	}
	d.awaitRefused(t, web, "MuxNotFound")
	d.eventually(t, "its slices are gone", func() bool { return len(d.slicesOn(t, mux)) == 0 })
}

// conflictToldOnce checks that a conflict causes one Event of a valid type, however often the mux is reconciled.
func (d defects) conflictToldOnce(t *testing.T) {
	mux := d.mux(t, "told-once")
	web := d.channel(t, "told-once", "web", mux)
	d.awaitServed(t, web, "http:80->20000")
	loser := d.channel(t, "told-once", "loser", mux, port("http", 20000, "TCP"))
	d.awaitRefused(t, loser, "MuxPortConflict")
	for i := range 5 {
		other := d.channel(t, "told-once", fmt.Sprintf("other-%d", i), mux)
		d.awaitServed(t, other, fmt.Sprintf("http:80->%d", 20001+i))
	}
	d.annotate(t, loser, "example.com/note", "touched")
	d.quiet(t, time.Second)
	if told := d.events(t, loser); len(told) != 1 || !strings.HasPrefix(told[0], "Warning MuxPortConflict 1: ") {
		t.Errorf("events: %q", told)
	}
}
