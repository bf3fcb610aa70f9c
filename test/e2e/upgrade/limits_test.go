package upgrade

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"nowake.ai/svc-lb-mux/test/cluster/cluster"
	"nowake.ai/svc-lb-mux/test/dataplane/packets"
	"nowake.ai/svc-lb-mux/test/product"
)

// limited are the muxes whose limit the reconciler must know in every phase.
func limited() []string {
	return []string{product.Namespace + "/mux", edge + "/open", edge + "/gke", edge + "/mixed", edge + "/capped",
		edge + "/long"}
}

// limits returns the limit of each mux, from the metrics of the reconciler that leads.
func (w *world) limits(t *testing.T, version string) (limits map[string]int) {
	t.Helper()
	what := fmt.Sprintf("%s: the metrics of version %s know the limit of each mux", w.phase(), version)
	cluster.Eventually(t, what, func(ctx context.Context) error {
		pods, err := w.reconcilers(ctx)
		if err != nil {
			return err
		}
		limits = map[string]int{}
		for i := range pods {
			if strings.HasSuffix(pods[i].Spec.Containers[0].Image, ":"+version) && pods[i].DeletionTimestamp == nil {
				if err := w.readLimits(ctx, &pods[i], limits); err != nil {
					return err
				}
			}
		}
		for _, mux := range limited() {
			if limits[mux] == 0 {
				return fmt.Errorf("no limit of mux %s in %v", mux, limits)
			}
		}
		return nil
	})
	return limits
}

// readLimits adds the limits in the metrics of one reconciler. A standby has none.
func (w *world) readLimits(ctx context.Context, pod *corev1.Pod, limits map[string]int) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet,
		"http://"+net.JoinHostPort(pod.Status.PodIP, "8081")+"/metrics", nil)
	if err != nil {
		return err
	}
	response, err := w.Inside().HTTP().Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	line := regexp.MustCompile(`(?m)^svc_lb_mux_ports_limit\{mux="([^"]+)",mux_namespace="([^"]+)"\} (\d+)$`)
	for _, match := range line.FindAllStringSubmatch(string(text), -1) {
		if limits[match[2]+"/"+match[1]], err = strconv.Atoi(match[3]); err != nil {
			return err
		}
	}
	return nil
}

// mayNotExceed fails the test for each mux whose limit is larger than before the first upgrade.
func (w *world) mayNotExceed(t *testing.T, before, now map[string]int) {
	t.Helper()
	for _, mux := range limited() {
		if now[mux] > before[mux] {
			t.Errorf("%s: the limit of mux %s was %d ports, and is %d", w.phase(), mux, before[mux], now[mux])
		}
	}
}

// latecomer is a channel that its mux refuses.
type latecomer struct{ namespace, name, class, ports, why string }

func refused(name string) []latecomer {
	return []latecomer{
		{team(1), name + "-mux", "mux", onePort, "the mux has GKE's 100 ports"},
		{team(1), name + "-open", "open." + edge, onePort, "the mux has its max-ports"},
		{outsider, name + "-outsider", "open." + edge, onePort, "the mux doesn't allow the namespace"},
		{team(2), name + "-capped", "capped." + edge, onePort, "its namespace has the one port that it may have"},
		{outsider, name + "-long", "long." + edge, onePort, "the mux doesn't allow the namespace"},
		{team(1), name + "-udp", "gke." + edge, "{name: http, port: 80, targetPort: 8080, protocol: UDP}",
			"GKE mixes no protocols"},
	}
}

// latecomers makes channels that are refused before the first upgrade, and must be refused ever after.
func (w *world) latecomers(t *testing.T) { w.refuse(t, refused("late")) }

// refusesNewcomers checks the latecomers, and new channels, which this phase's reconciler must judge.
func (w *world) refusesNewcomers(t *testing.T) {
	t.Helper()
	fresh := refused("fresh")
	w.refuse(t, fresh)
	for _, l := range append(refused("late"), fresh...) {
		svc, err := w.service(t.Context(), l.namespace, l.name)
		if err != nil {
			t.Fatal(err)
		}
		if says(svc, "Accepted", "True") || svc.Annotations[prefix+"/ports"] != "" || addressOf(svc) != "" {
			t.Errorf("%s: channel %s/%s has %q and %v, but must be refused: %s", w.phase(), l.namespace, l.name,
				svc.Annotations[prefix+"/ports"], svc.Status, l.why)
		}
	}
	for _, l := range fresh {
		w.Kubectl(t, "delete", "service", l.name, "--namespace="+l.namespace)
	}
}

// refuse creates newcomers, and waits until each is accepted or refused.
func (w *world) refuse(t *testing.T, newcomers []latecomer) {
	t.Helper()
	for _, l := range newcomers {
		w.Apply(t, service(l.namespace, l.name, l.class, "http:auto", l.ports))
	}
	for _, l := range newcomers {
		cluster.Eventually(t, fmt.Sprintf("%s: channel %s/%s is judged", w.phase(), l.namespace, l.name),
			func(ctx context.Context) error {
				svc, err := w.service(ctx, l.namespace, l.name)
				if err == nil && !says(svc, "Accepted", "False") && !says(svc, "Accepted", "True") {
					err = fmt.Errorf("status: %v", svc.Status)
				}
				return err
			})
	}
}

// servesGuest checks that this phase's reconciler works: it attaches a channel to a mux with room, waits for an answer,
// and deletes the channel. The mux has longer lists than a new mux may have, which must not freeze it.
func (w *world) servesGuest(t *testing.T) {
	t.Helper()
	guest := &channel{namespace: team(2), name: "guest", muxNamespace: edge, mux: "long"}
	w.Apply(t, service(guest.namespace, guest.name, "long."+edge, "http:auto", onePort))
	w.learn(t, guest)
	cluster.Eventually(t, w.phase()+": the guest is answered", func(ctx context.Context) error {
		pod, err := packets.HTTP(ctx, w.Outside(), at(guest.address, guest.ports[0].number))
		if err == nil && !podsOf(guest.namespace)(pod) {
			err = fmt.Errorf("pod %s answers", pod)
		}
		return err
	})
	w.Kubectl(t, "delete", "service", guest.name, "--namespace="+guest.namespace)
}
