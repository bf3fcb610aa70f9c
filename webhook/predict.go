package webhook

import (
	"context"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"
	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/reconciler/plan"
	"nowake.ai/svc-lb-mux/validation"
)

const (
	// patience is how long a review waits for what is foreseen of it. Nothing but a machine that has no time for us takes
	// that long; the change then goes unpredicted, as it would without us.
	patience = 500 * time.Millisecond
	// maxTurns is how many predictions are made at once.
	maxTurns = 2
	// maxForeseen is how many ports a review's objects may have to be predicted. It bounds what a forged review costs: a
	// prediction can't be stopped, and no budget counts its memory. Two objects with 10,000 ports each are below it.
	maxForeseen = 25_000
)

// foresight tells what a change will come to, by the Services it knows. It is a help, not a guard: where it doesn't
// know, is busy, or breaks, a review is answered without it. A nil one foresees nothing.
//
//	review ─▶ of(request) ─▶ book: the Services as last heard ─▶ plan: what they come to ─▶ warnings
//	                                                                                      └▶ strict: denials
type foresight struct {
	lang validation.Language
	book *book
	// strict denies what Services alone prove; hide keeps other namespaces' channels unnamed.
	strict, hide bool
	// ready is false for as long as the book isn't to be gone by.
	ready    func() bool
	log      *zap.Logger
	metrics  foresightMetrics
	turns    chan struct{}
	patience time.Duration
}

// foreseeing is what the options ask for, and what must run for it; both are nil where they ask for nothing.
func foreseeing(options Options, lang validation.Language, version string, log *zap.Logger, registry prometheus.Registerer,
) (*foresight, func(context.Context)) {
	if !options.predict() {
		return nil, nil
	}
	metrics := newForesightMetrics(registry)
	follower := &follower{log: log, metrics: metrics}
	follower.connect(options, version)
	book := newBook(lang, time.Now, follower.complete)
	foresight := &foresight{
		lang: lang, book: book, strict: options.strict(), hide: options.hide(), ready: follower.ready, log: log,
		metrics: metrics, turns: make(chan struct{}, maxTurns), patience: patience,
	}
	return foresight, func(ctx context.Context) { follower.run(ctx, book) }
}

// of returns what is foreseen of a request that nothing else is wrong with; svc is its new object, nil if it deletes one.
func (f *foresight) of(req *admissionv1.AdmissionRequest, svc *corev1.Service) []plan.Prediction {
	switch {
	case f == nil:
		return nil
	case !f.ready():
		f.metrics.skipped(skippedUnready)
		return nil
	}
	return f.inTime(func() []plan.Prediction {
		old, err := decode(req.OldObject)
		if err != nil {
			old = nil // a creation has none
		}
		if portsOf(old)+portsOf(svc) > maxForeseen {
			f.metrics.skipped(skippedLarge)
			return nil
		}
		return f.foresee(old, svc)
	})
}

// inTime waits its turn and for the answer, and for both no longer than it has patience. Whoever comes too late works on
// to the end, in its turn: so there are never more of them than turns.
func (f *foresight) inTime(foresee func() []plan.Prediction) []plan.Prediction {
	late := time.NewTimer(f.patience)
	defer late.Stop()
	select {
	case f.turns <- struct{}{}:
	case <-late.C:
		f.metrics.skipped(skippedBusy)
		return nil
	}
	answer := make(chan []plan.Prediction, 1)
	go func() {
		start := time.Now()
		defer func() {
			f.broke(recover())
			f.metrics.duration.Observe(time.Since(start).Seconds())
			<-f.turns
			close(answer)
		}()
		answer <- foresee()
	}()
	select {
	case said := <-answer:
		return said
	case <-late.C:
		f.metrics.skipped(skippedBusy)
		return nil
	}
}

// broke is told of a panic. It must not fail a review: with failurePolicy Fail that would be a denial.
func (f *foresight) broke(what any) {
	if what == nil {
		return
	}
	f.metrics.skipped(skippedBroken)
	f.log.Error("a prediction panicked; its review was answered without it", zap.String("panic", fmt.Sprint(what)),
		zap.Stack("stack"))
}

func (f *foresight) foresee(old, svc *corev1.Service) []plan.Prediction {
	var said []plan.Prediction
	is, was := f.kind(svc), f.kind(old)
	if was.Mux() && old.DeletionTimestamp == nil {
		said = f.mux(old, svc, is)
	}
	if is == validation.IsChannel {
		said = append(said, f.channel(old, svc, was)...)
	}
	return said
}

func portsOf(svc *corev1.Service) int {
	if svc == nil {
		return 0
	}
	return len(svc.Spec.Ports)
}

func (f *foresight) kind(svc *corev1.Service) validation.Kind {
	if svc == nil {
		return validation.Stranger
	}
	return f.lang.Classify(svc)
}

func (f *foresight) mux(old, svc *corev1.Service, is validation.Kind) []plan.Prediction {
	outlook := f.book.outlook(keyOf(old))
	switch {
	case outlook == nil:
		return nil
	case svc == nil:
		return outlook.Deleted(f.hide)
	case !is.Mux():
		return outlook.Dropped(f.hide)
	}
	return outlook.Mux(readMux(f.lang, old), readMux(f.lang, svc), f.hide)
}

func (f *foresight) channel(old, svc *corev1.Service, was validation.Kind) []plan.Prediction {
	after := plan.ReadChannel(f.lang, svc)
	if after.Mux.Name == "" {
		return nil // its class names none
	}
	var before *plan.ObservedChannel
	if was == validation.IsChannel {
		channel := plan.ReadChannel(f.lang, old)
		before = &channel
	}
	if outlook := f.book.outlook(after.Mux); outlook != nil {
		return outlook.Channel(before, after, f.hide)
	}
	return nil
}

func keyOf(svc *corev1.Service) types.NamespacedName {
	return types.NamespacedName{Namespace: svc.Namespace, Name: svc.Name}
}
