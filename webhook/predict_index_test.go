package webhook

import (
	"fmt"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/reconciler/numbers/forecast"
	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
	"nowake.ai/svc-lb-mux/validation"
)

var muxName = types.NamespacedName{Namespace: "svc-mux", Name: "mux"}

func newTestBook(t testing.TB) *index {
	t.Helper()
	b := newIndex(testLanguage(t), time.Now)
	b.holdFactor = 0
	return b
}

// keep fails the test if a store of the index returns an error to its reflector.
func keep(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// refuses says that a new channel with that port would be refused.
func refuses(b *index, port int32) bool {
	channel := plan.ReadChannel(b.lang, named("team-z", "asks", port))
	return len(b.outlook(muxName).Channel(nil, channel, false)) > 0
}

func TestBookFollowsServices(t *testing.T) {
	b := newTestBook(t)
	services := b.store(func() {})
	api := named("team-b", "api", 8080)
	mux := testMux(t, nil, api)
	expect := func(what string, refused bool) {
		t.Helper()
		if got := refuses(b, 8080); got != refused {
			t.Errorf("%s: refused %v", what, got)
		}
	}
	expect("there is no mux", true)
	keep(t, services.Add(mux.DeepCopy()))
	expect("the mux has a port without an owner, which will be removed", false)
	keep(t, services.Add(api.DeepCopy()))
	expect("a channel owns the port", true)

	elsewhere := api.DeepCopy()
	*elsewhere.Spec.LoadBalancerClass = validation.DefaultPrefix + "/other"
	keep(t, services.Update(elsewhere.DeepCopy()))
	expect("its owner went to another mux", false)
	keep(t, services.Update(api.DeepCopy()))
	expect("and came back", true)
	stranger := api.DeepCopy()
	stranger.Spec.LoadBalancerClass = nil
	keep(t, services.Update(stranger))
	expect("its owner is no channel any more", false)
	keep(t, services.Update(api.DeepCopy()))
	keep(t, services.Delete(api.DeepCopy()))
	expect("its owner is gone", false)

	keep(t, services.Replace([]any{mux.DeepCopy(), api.DeepCopy()}, "7"))
	expect("all was read again", true)
	keep(t, services.Replace([]any{mux.DeepCopy()}, "8"))
	expect("all was read again, and it went meanwhile", false)
	keep(t, services.Replace(nil, "9"))
	if len(b.entries)+len(b.muxes) > 0 {
		t.Errorf("without Services the book keeps %d entries and %d pages", len(b.entries), len(b.muxes))
	}
}

func TestStrangersAreNotKept(t *testing.T) {
	b := newTestBook(t)
	for i := range 100 {
		svc := named("team-a", fmt.Sprint("web-", i), 80)
		svc.Spec.LoadBalancerClass = nil
		keep(t, b.store(func() {}).Add(svc))
	}
	if len(b.entries)+len(b.muxes) > 0 {
		t.Errorf("the book keeps %d entries and %d pages", len(b.entries), len(b.muxes))
	}
}

func TestOutlookIsCachedUntilAServiceOfTheMuxChanges(t *testing.T) {
	api := named("team-b", "api", 8080)
	mux := testMux(t, nil, api)
	b := newTestBook(t)
	keep(t, b.store(func() {}).Replace([]any{mux.DeepCopy(), api.DeepCopy()}, ""))
	first := b.outlook(muxName)

	told := api.DeepCopy()
	told.ResourceVersion, told.Labels = "9", map[string]string{"a": "b"}
	told.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: "203.0.113.10"}}
	told.Status.Conditions = []metav1.Condition{{Type: "x"}}
	keep(t, b.store(func() {}).Update(told))
	addressed := mux.DeepCopy()
	addressed.ResourceVersion, addressed.Status = "9", told.Status
	keep(t, b.store(func() {}).Update(addressed))
	other := named("team-b", "other", 9090)
	*other.Spec.LoadBalancerClass = validation.DefaultPrefix + "/other"
	keep(t, b.store(func() {}).Add(other))
	keep(t, b.store(func() {}).Replace([]any{mux.DeepCopy(), api.DeepCopy(), other.DeepCopy()}, ""))
	if b.outlook(muxName) != first {
		t.Error("the outlook was computed again after an irrelevant change")
	}
	keep(t, b.store(func() {}).Add(named("team-c", "new", 80)))
	if b.outlook(muxName) == first || !refuses(b, 80) {
		t.Error("a new channel doesn't change the outlook")
	}
}

func TestExpensiveOutlookIsKeptForTenTimesItsCost(t *testing.T) {
	b := newTestBook(t)
	b.holdFactor = holdFactor
	now, look := time.Unix(0, 0), time.Second // computing an outlook reads the clock twice
	b.now = func() time.Time { now = now.Add(look); return now }
	changes := int32(0)
	renewed := func() bool {
		now = now.Add(time.Minute)
		first := b.outlook(muxName)
		changes++
		keep(t, b.store(func() {}).Add(named("team-b", "changes", changes)))
		return b.outlook(muxName) != first
	}
	const few = int(freeCost/maxItemCost)/2 - 1 // channels with a port each
	keep(t, b.store(func() {}).Add(testMux(t, nil)))
	for i := range few - 1 {
		keep(t, b.store(func() {}).Add(named("team-a", fmt.Sprint("web-", i), 80)))
	}
	if !renewed() {
		t.Error("the outlook of few channels is kept, although only the machine's standstill took long")
	}
	wide := named("team-a", "wide", 80)
	for i := range 10_000 {
		wide.Spec.Ports = append(wide.Spec.Ports, corev1.ServicePort{Name: fmt.Sprint("p", i), Port: int32(1000 + i)})
	}
	keep(t, b.store(func() {}).Add(wide))
	if renewed() {
		t.Error("an expensive outlook of many ports is computed again at once")
	}
	look = freeCost / 2
	if !renewed() {
		t.Error("a cheap outlook is kept")
	}
}

func TestConcurrentReadersShareOneOutlook(t *testing.T) {
	b := newTestBook(t)
	keep(t, b.store(func() {}).Add(testMux(t, nil)))
	for i := range 2000 {
		keep(t, b.store(func() {}).Add(named("team-a", fmt.Sprint("web-", i), int32(1+i))))
	}
	var all sync.WaitGroup
	var mu sync.Mutex
	seen := map[*forecast.Outlook]bool{}
	for range 50 {
		all.Go(func() {
			outlook := b.outlook(muxName)
			mu.Lock()
			defer mu.Unlock()
			seen[outlook] = true
		})
	}
	all.Wait()
	if len(seen) != 1 {
		t.Errorf("%d outlooks were computed, want 1", len(seen))
	}
}

func TestReaderWaitsForAnOutlookUnderWay(t *testing.T) {
	b := newTestBook(t)
	keep(t, b.store(func() {}).Add(testMux(t, nil)))
	under := &cachedOutlook{version: -1, done: make(chan struct{})}
	b.muxes[muxName].cached = under
	got := make(chan *forecast.Outlook)
	go func() { got <- b.outlook(muxName) }()
	select {
	case <-got:
		t.Fatal("the reader doesn't wait")
	case <-time.After(20 * time.Millisecond):
	}
	under.outlook = forecast.Survey(plan.World{})
	close(under.done)
	if <-got != under.outlook {
		t.Error("the reader computes its own outlook")
	}
}

func TestBookIsSafeForConcurrentUse(t *testing.T) {
	b := newTestBook(t)
	keep(t, b.store(func() {}).Add(testMux(t, nil)))
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			for j := range 100 {
				svc := named("team-a", fmt.Sprint("web-", i, "-", j%7), int32(1+j))
				if j%3 == 0 {
					_ = b.store(func() {}).Delete(svc)
				} else {
					_ = b.store(func() {}).Update(svc)
				}
			}
		})
		all.Go(func() {
			for j := range 100 {
				refuses(b, int32(1+j))
			}
		})
	}
	all.Wait()
}
