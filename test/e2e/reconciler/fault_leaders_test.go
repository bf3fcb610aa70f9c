package reconciler

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/test/cluster/cluster"
	"nowake.ai/svc-lb-mux/test/cluster/faults"
)

// TestTwoReconcilersLeadAtOnce runs two reconcilers on the same muxes while users create and delete channels. One of
// them gets all events late. Each adds and removes ports in the right order. Only an address may be outdated, because
// the other reconciler may not have seen it yet.
func TestTwoReconcilersLeadAtOnce(t *testing.T) {
	t.Parallel()
	s := &scene{world: start(t, cluster.APIServerOnly(), cluster.Helm())}
	s.restrain(t)
	h := s.remember(t)
	mux := s.mux(t, "mux")
	first, second := &scene{world: s.world, proxy: s.through(t)}, &scene{world: s.world, proxy: s.through(t)}
	first.alone(t)
	second.alone(t)
	late := second.proxy.DelayWatches(faults.Match{}, 300*time.Millisecond)
	s.churn(t, mux, 10*time.Second)
	late.Remove()

	cluster.Eventually(t, "the mux settles", func(context.Context) error { return s.settled(t, mux) })
	first.quiet(t, 2*time.Second)
	second.quiet(t, 2*time.Second)
	if err := s.settled(t, mux); err != nil {
		t.Error(err)
	}
	checkPromises(t, h.soFar(t), "addresses")
	for name, one := range map[string]*scene{"first": first, "second": second} {
		if n := one.writes(counted); n < 20 {
			t.Errorf("the %s reconciler made %d writes: it did nothing", name, n)
		}
	}
}

// churn creates, changes and deletes channels with fixed and auto numbers.
func (s *scene) churn(t *testing.T, mux types.NamespacedName, howLong time.Duration) {
	t.Helper()
	random := rand.New(rand.NewPCG(1, 2))
	for end := time.Now().Add(howLong); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		key := types.NamespacedName{Namespace: "churn", Name: fmt.Sprintf("c%d", random.IntN(12))}
		wants := []string{"tcp:auto", fmt.Sprintf("tcp:%d", 8000+random.IntN(6))}[random.IntN(2)]
		_, err := s.user.CoreV1().Services(key.Namespace).Get(t.Context(), key.Name, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err):
			s.backends(t, s.channel(t, key.Namespace, key.Name, mux, selectorless, port("tcp", 80, "TCP"), asks(wants)),
				key.Name, "tcp:80", "10.0.0.1")
		case err != nil:
			t.Fatal(err)
		case random.IntN(2) == 0:
			s.delete(t, key)
		default:
			s.annotate(t, key, "external-ports", wants)
		}
	}
}

// settled returns nil if mux, ledger, slices and channels agree, and each channel has the numbers it can have.
func (s *scene) settled(t *testing.T, mux types.NamespacedName) error {
	t.Helper()
	b := &burst{scene: s, id: "churn"}
	owned := map[string]bool{}
	for _, line := range b.ofMux(t, "mux", mux) {
		words := strings.Fields(line)
		if len(words) != 6 || words[5] != "10.0.0.1" {
			return fmt.Errorf("%q is an incomplete port", line)
		}
		owned[words[2]] = true
	}
	channels, err := s.user.CoreV1().Services("churn").List(t.Context(), metav1.ListOptions{})
	if err != nil {
		return err
	}
	public := s.public(t, mux)
	for i := range channels.Items {
		channel := &channels.Items[i]
		shown := address(channel) == proxied(s.get(t, mux))
		if accepted := condition(channel, "Accepted"); owned[channel.Name] != shown || accepted == "" {
			return fmt.Errorf("%s: owns %t, shows %q, is %q", channel.Name, owned[channel.Name], address(channel), accepted)
		}
		// A channel is refused only because another one has the number.
		if number, fixed := strings.CutPrefix(channel.Annotations[prefix+"/external-ports"], "tcp:"); fixed &&
			number != "auto" &&
			!slices.Contains(public, number+"/TCP") {
			return fmt.Errorf("%s is free, but %s, which asks for it, is refused", number, channel.Name)
		}
	}
	return nil
}
