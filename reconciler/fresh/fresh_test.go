package fresh

import (
	"slices"
	"strconv"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"
)

func service(name string, version int, uid string) *corev1.Service {
	return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID(uid),
		ResourceVersion: strconv.Itoa(version)}}
}

// bench is a store with a clock.
type bench struct {
	*Store[*corev1.Service]
	clock time.Time
}

func start() *bench {
	b := &bench{clock: time.Unix(0, 0)}
	b.Store = New[*corev1.Service](time.Minute, func() time.Time { return b.clock })
	return b
}

var key = types.NamespacedName{Namespace: "ns", Name: "a"}

func TestLatest(t *testing.T) {
	old, now := service("a", 9, "u"), service("a", 10, "u")
	for name, test := range map[string]struct {
		do     func(*bench)
		cached *corev1.Service
		want   *corev1.Service
	}{
		"without a write the cache counts":        {func(*bench) {}, old, old},
		"an object that doesn't exist":            {func(*bench) {}, nil, nil},
		"the write is newer":                      {func(b *bench) { b.Put(now) }, old, now},
		"versions compare as numbers":             {func(b *bench) { b.Put(service("a", 10, "u")) }, now, now},
		"the cache is newer":                      {func(b *bench) { b.Put(old) }, now, now},
		"a created object isn't in the cache yet": {func(b *bench) { b.Put(now) }, nil, now},
		"an older response comes later":           {func(b *bench) { b.Put(now); b.Put(old) }, nil, now},
		"the informer shows a later delete":       {func(b *bench) { b.Put(old); b.Seen(service("a", 11, "u")) }, nil, nil},
		"created and deleted before the response to the create": {
			func(b *bench) { b.Seen(service("a", 11, "u")); b.Put(now) }, nil, nil},
		"another object shows that the informer is past the write": {
			func(b *bench) { b.Put(now); b.Seen(service("b", 12, "v")) }, nil, nil},
		"the informer is before the write": {func(b *bench) { b.Put(now); b.Seen(service("b", 9, "v")) }, nil, now},
		"versions of another namespace don't count": {func(b *bench) {
			b.Put(now)
			other := service("b", 12, "v")
			other.Namespace = "other"
			b.Seen(other)
		}, nil, now},
		"the cache still shows an object that we deleted": {func(b *bench) { b.Delete(old) }, old, nil},
		"another writer created it again": {func(b *bench) { b.Delete(old) }, service("a", 12, "new"),
			service("a", 12, "new")},
		"we created it again": {func(b *bench) { b.Delete(old); b.Put(service("a", 12, "new")) },
			old, service("a", 12, "new")},
		"the write is overdue": {func(b *bench) {
			b.Put(now)
			b.clock = b.clock.Add(2 * time.Minute)
		}, nil, nil},
		"the write is forgotten": {func(b *bench) { b.Put(now); b.Forget(key) }, old, old},
		"an object from a dry run has no version": {func(b *bench) {
			b.Put(&corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "a", UID: "dry"}})
		}, nil, &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "a", UID: "dry"}}},
	} {
		t.Run(name, func(t *testing.T) {
			b := start()
			test.do(b)
			got := b.Latest(key, test.cached)
			if (got == nil) != (test.want == nil) || got != nil &&
				(got.UID != test.want.UID || got.ResourceVersion != test.want.ResourceVersion) {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}

// TestGlanceRemembersAWriteThatTheStoreDrops: the informer shows the write after the cache was read.
func TestGlanceRemembersAWriteThatTheStoreDrops(t *testing.T) {
	b := start()
	b.Put(service("a", 10, "u"))
	written, read := b.Before(), service("a", 9, "u")
	b.Seen(service("a", 10, "u"))
	if got := written.Latest(key, read); got.ResourceVersion != "10" {
		t.Errorf("got version %s", got.ResourceVersion)
	}
	for _, newer := range []*corev1.Service{service("a", 11, "u"), nil} {
		if got := written.Latest(key, newer); got != newer {
			t.Errorf("got %v, want %v", got, newer)
		}
	}
	b.Delete(service("a", 11, "u"))
	if got := b.Before().Latest(key, read); got != nil {
		t.Errorf("got %v, which was deleted", got)
	}
}

func TestConfirmedStoreKeepsOverdueWritesUntilALiveRead(t *testing.T) {
	old, now, other := service("a", 9, "u"), service("a", 10, "u"), service("b", 11, "v")
	late := func() *bench {
		b := start()
		b.confirmed = true
		b.Put(now)
		b.clock = b.clock.Add(2 * time.Minute)
		b.Put(other)
		return b
	}
	b := late()
	if got := b.Latest(key, old); got != now {
		t.Errorf("got %v for an overdue write, want the write", got)
	}
	if got := b.Overdue(); len(got) != 1 || got[0] != now {
		t.Errorf("overdue: %v", got)
	}
	if due := b.Due(); !due.Equal(b.clock.Add(-time.Minute)) || !start().Due().IsZero() {
		t.Errorf("Due is %s, and %s without writes", due, start().Due())
	}
	for name, test := range map[string]struct {
		says *corev1.Service
		gone bool
		want *corev1.Service
	}{
		"unchanged":                       {now, false, now},
		"changed by another writer":       {service("a", 12, "u"), false, service("a", 12, "u")},
		"the versions start again":        {service("a", 2, "u"), false, old},
		"deleted, and still in the cache": {now, true, nil},
		"created again":                   {service("a", 12, "new"), false, service("a", 12, "new")},
	} {
		t.Run(name, func(t *testing.T) {
			b := late()
			b.Renew(test.says, test.gone)
			if len(b.Overdue()) != 0 {
				t.Error("still overdue")
			}
			got := b.Latest(key, old)
			if (got == nil) != (test.want == nil) || got != nil &&
				(got.UID != test.want.UID || got.ResourceVersion != test.want.ResourceVersion) {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
	b.Renew(now, true)
	b.Seen(service("b", 12, "v"))
	b.clock = b.clock.Add(2 * time.Minute)
	if got := b.Overdue(); len(got) != 0 || len(b.written) != 0 {
		t.Errorf("a deleted object is overdue though the informer is past the delete: %v", got)
	}
}

func TestOverdueWritesAreDropped(t *testing.T) {
	b := start()
	for i := range 100 {
		b.Put(service(strconv.Itoa(i), i+1, "u"))
	}
	for i := range 50 {
		b.Seen(service(strconv.Itoa(i), i+1, "u"))
	}
	if len(b.written) != 50 {
		t.Errorf("%d writes are held, want the 50 that the informer hasn't shown", len(b.written))
	}
	b.clock = b.clock.Add(2 * time.Minute)
	b.Delete(service("x", 1, "u"))
	if len(b.written) != 1 {
		t.Errorf("%d writes are held, want 1: the others are overdue", len(b.written))
	}
}

// TestOverdueIsSorted: the simulation must be deterministic.
func TestOverdueIsSorted(t *testing.T) {
	b := start()
	for i := range 100 {
		b.Put(service(strconv.Itoa(i), i+1, "u"))
	}
	b.clock = b.clock.Add(2 * time.Minute)
	names := make([]string, 0, 100)
	for _, late := range b.Overdue() {
		names = append(names, late.Name)
	}
	if len(names) != 100 || !slices.IsSorted(names) {
		t.Errorf("%d are overdue: %v", len(names), names)
	}
}

// TestReadYourWrites plays an API server and an informer that is any number of events behind. Latest never returns an
// object older than our last write, and returns the truth once the informer has caught up.
func TestReadYourWrites(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := start()
		var (
			version   int
			truth     *corev1.Service   // on the server
			history   []*corev1.Service // events that the informer hasn't shown
			deleted   []bool
			cached    *corev1.Service
			lastWrite int
		)
		event := func(obj *corev1.Service, gone bool) {
			history, deleted = append(history, obj), append(deleted, gone)
			truth = obj
			if gone {
				truth = nil
			}
		}
		next := func(uid types.UID) *corev1.Service { version++; return service("a", version, string(uid)) }
		show := func() {
			if len(history) == 0 {
				return
			}
			cached = history[0]
			if deleted[0] {
				cached = nil
			}
			b.Seen(history[0])
			history, deleted = history[1:], deleted[1:]
		}
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			switch rapid.SampledFrom([]string{"we write", "we delete", "others write", "others delete", "show"}).Draw(t,
				"step") {
			case "we write":
				uid := types.UID(strconv.Itoa(version))
				if truth != nil {
					uid = truth.UID
				}
				event(next(uid), false)
				answer := truth
				if rapid.Bool().Draw(t, "the event comes before the response") {
					for len(history) > 0 {
						show()
					}
				}
				b.Put(answer)
				lastWrite = version
			case "we delete":
				if truth != nil {
					gone := truth
					event(next(truth.UID), true)
					b.Delete(gone)
					lastWrite = version
				}
			case "others write":
				if truth != nil {
					event(next(truth.UID), false)
				}
			case "others delete":
				if truth != nil {
					event(next(truth.UID), true)
				}
			case "show":
				show()
			}
			if got := b.Latest(key, cached); got != nil && lastWrite > 0 {
				if v, _ := strconv.Atoi(got.ResourceVersion); v < lastWrite {
					t.Fatalf("Latest has version %d, and we have written %d", v, lastWrite)
				}
			}
		}
		for len(history) > 0 {
			show()
		}
		if got := b.Latest(key, cached); got != truth {
			t.Fatalf("the informer has caught up: got %v, want %v", got, truth)
		}
	})
}
