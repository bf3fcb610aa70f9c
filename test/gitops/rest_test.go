package gitops

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nowake.ai/svc-lb-mux/test/cluster/cluster"
)

// versions returns the resource version of every object in a place that the product or a tool may write. Comparing them
// reveals a write.
func (w *world) versions(ctx context.Context, p place) (map[string]string, error) {
	all := map[string]string{}
	for _, in := range []string{p.infra, p.shop} {
		services, err := w.user.CoreV1().Services(in).List(ctx, metav1.ListOptions{})
		if err != nil {
			return nil, err
		}
		for i := range services.Items {
			all["Service "+in+"/"+services.Items[i].Name] = services.Items[i].ResourceVersion
		}
		slices, err := w.user.DiscoveryV1().EndpointSlices(in).List(ctx, metav1.ListOptions{})
		if err != nil {
			return nil, err
		}
		for i := range slices.Items {
			all["EndpointSlice "+in+"/"+slices.Items[i].Name] = slices.Items[i].ResourceVersion
		}
		configs, err := w.user.CoreV1().ConfigMaps(in).List(ctx, metav1.ListOptions{})
		if err != nil {
			return nil, err
		}
		for i := range configs.Items {
			all["ConfigMap "+in+"/"+configs.Items[i].Name] = configs.Items[i].ResourceVersion
		}
	}
	return all, nil
}

// rested waits until all channels are programmed and no object was written for a while.
func (w *world) rested(t *testing.T, p place) map[string]string {
	t.Helper()
	var last map[string]string
	var since time.Time
	cluster.Eventually(t, p.infra+" and "+p.shop+" are at rest", func(ctx context.Context) error {
		if err := w.programmed(ctx, p); err != nil {
			return err
		}
		now, err := w.versions(ctx, p)
		if err != nil {
			return err
		}
		if !maps.Equal(now, last) {
			last, since = now, time.Now()
		}
		if quiet := time.Since(since); quiet < time.Second {
			return fmt.Errorf("the last write was %s ago", quiet)
		}
		return nil
	})
	return last
}

func (w *world) programmed(ctx context.Context, p place) error {
	channels, err := w.user.CoreV1().Services(p.shop).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	if len(channels.Items) == 0 {
		return fmt.Errorf("there is no channel in %s", p.shop)
	}
	for i := range channels.Items {
		channel := &channels.Items[i]
		if condition(channel, "Programmed") != metav1.ConditionTrue || len(channel.Status.LoadBalancer.Ingress) == 0 {
			return fmt.Errorf("%s is not programmed: %v", channel.Name, channel.Status.Conditions)
		}
	}
	return nil
}

func condition(svc *corev1.Service, kind string) metav1.ConditionStatus {
	for _, c := range svc.Status.Conditions {
		if c.Type == prefix+"/"+kind {
			return c.Status
		}
	}
	return ""
}

// public returns each mux's ports, and each channel's numbers in its annotation.
func (w *world) public(t *testing.T, p place) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, in := range []string{p.infra, p.shop} {
		services, err := w.user.CoreV1().Services(in).List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for i := range services.Items {
			svc := &services.Items[i]
			if note := svc.Annotations[prefix+"/ports"]; note != "" {
				all[svc.Name] = note
			}
			if svc.Annotations[prefix+"/multiplexer"] == "" {
				continue
			}
			var ports []string
			for _, port := range svc.Spec.Ports {
				ports = append(ports, fmt.Sprintf("%d/%s", port.Port, port.Protocol))
			}
			slices.Sort(ports)
			all[svc.Name] = strings.Join(ports, " ")
		}
	}
	return all
}

// wanted returns the ports of the repository, the same for every tool.
func wanted() map[string]string {
	return map[string]string{
		"public": "101/TCP 20000/TCP 53/TCP 53/UDP 8443/TCP 9100/TCP",
		"edge":   "101/TCP 8080/TCP", "bare": "22/TCP 9000/TCP", "kept": "25/TCP 9000/TCP",
		"web": "http:80->20000", "api": "https:443->8443, metrics:9100->9100", "dns": "dns-tcp:53->53, dns:53->53",
		"plain": "http:8080->8080", "shell": "ssh:22->22", "mail": "smtp:25->25",
	}
}

func (w *world) asWanted(t *testing.T, p place) {
	t.Helper()
	if diff := cmp.Diff(wanted(), w.public(t, p)); diff != "" {
		t.Errorf("ports (-want +got):\n%s", diff)
	}
}

// requests counts the write requests by client, verb and resource. Dry runs and leases don't count.
func (w *world) requests(t *testing.T, from int) map[string]int {
	t.Helper()
	events, err := w.Audited()
	if err != nil {
		t.Fatal(err)
	}
	count := map[string]int{}
	for i := range events[from:] {
		e := &events[from+i]
		reads := slices.Contains([]string{"get", "list", "watch"}, e.Verb)
		if reads || strings.Contains(e.RequestURI, "dryRun=All") || e.ObjectRef.Resource == "leases" {
			continue
		}
		name, _, _ := strings.Cut(e.UserAgent, "/")
		count[name+" "+e.Verb+" "+e.ObjectRef.Resource]++
	}
	return count
}

func (w *world) audited(t *testing.T) int {
	t.Helper()
	events, err := w.Audited()
	if err != nil {
		t.Fatal(err)
	}
	return len(events)
}
