package upgrade

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"nowake.ai/svc-lb-mux/test/cluster/cluster"
)

// learn waits until a channel is programmed, and stores its address and numbers.
func (w *world) learn(t *testing.T, c *channel) {
	t.Helper()
	cluster.Eventually(t, c.id()+" is programmed", func(ctx context.Context) error {
		svc, err := w.service(ctx, c.namespace, c.name)
		if err != nil {
			return err
		}
		if !says(svc, "Programmed", "True") || addressOf(svc) == "" {
			return fmt.Errorf("status: %v", svc.Status)
		}
		c.address, c.note = addressOf(svc), svc.Annotations[prefix+"/ports"]
		c.ports, err = numbersOf(svc)
		return err
	})
}

// numbersOf reads "tcp:80->30000, udp:80->30000". The Service's spec tells each port's protocol.
func numbersOf(svc *corev1.Service) (ports []port, err error) {
	protocols := map[string]corev1.Protocol{}
	for _, p := range svc.Spec.Ports {
		protocols[p.Name] = p.Protocol
	}
	note := svc.Annotations[prefix+"/ports"]
	for part := range strings.SplitSeq(note, ", ") {
		name, numbers, _ := strings.Cut(part, ":")
		_, public, _ := strings.Cut(numbers, "->")
		number, err := strconv.Atoi(public)
		if err != nil || protocols[name] == "" {
			return nil, fmt.Errorf("%s/%s has the numbers %q", svc.Namespace, svc.Name, note)
		}
		ports = append(ports, port{number, protocols[name]})
		delete(protocols, name)
	}
	if len(protocols) > 0 {
		return nil, fmt.Errorf("%s/%s has the numbers %q, but none for %v", svc.Namespace, svc.Name, note, protocols)
	}
	return ports, nil
}

// stand fails the test for each channel whose numbers or address changed, or that isn't programmed.
func (w *world) stand(t *testing.T, all []*channel) {
	t.Helper()
	for _, c := range all {
		svc, err := w.service(t.Context(), c.namespace, c.name)
		if err != nil {
			t.Fatal(err)
		}
		if got := svc.Annotations[prefix+"/ports"]; got != c.note {
			t.Errorf("%s: the numbers of channel %s of mux %s changed from %q to %q", w.phase(), c.id(), c.muxID(), c.note, got)
		}
		if !says(svc, "Programmed", "True") || addressOf(svc) != c.address {
			t.Errorf("%s: channel %s of mux %s had address %s, but its status is %v", w.phase(), c.id(), c.muxID(), c.address,
				svc.Status)
		}
	}
	mux, err := w.service(t.Context(), edge, "open")
	if err != nil {
		t.Fatal(err)
	}
	if names := mux.Annotations["external-dns.alpha.kubernetes.io/hostname"]; names != allowedName {
		t.Errorf("%s: mux %s/open publishes the names %q, but may publish only %q", w.phase(), edge, names, allowedName)
	}
}
