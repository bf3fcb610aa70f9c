package webhook

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"
	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/reconciler/numbers/forecast"
	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
	"nowake.ai/svc-lb-mux/validation"
)

const (
	// predictionTimeout is how long a review waits for its prediction, and then is answered without it. A prediction
	// takes longer only on an overloaded machine, or if a live read is slow.
	predictionTimeout = 500 * time.Millisecond
	// maxConcurrent limits the predictions made at once.
	maxConcurrent = 2
	// maxPredictedPorts is how many ports a review's objects may have for a prediction. It limits the cost of a forged
	// review: a prediction can't be stopped, and the budget doesn't count its memory. Two objects with 10,000 ports
	// each are below it.
	maxPredictedPorts = 25_000
)

// predictor predicts the result of a change from the Services that it knows. It is a help for users and no guard: if it
// isn't ready, is busy, or fails, a review is answered without a prediction. A nil predictor predicts nothing.
//
//	review ─▶ predict(request) ─▶ index: the Services as last seen ─▶ plan: the result ─▶ warnings
//	                                                                                    └▶ denials (see messages)
type predictor struct {
	lang  validation.Language
	index *index
	// strict denies every change whose refusal the Services alone prove. Without strict, only forbidden names for
	// external-dns are denied. hide leaves out the names of other namespaces' channels.
	strict, hide bool
	// ready is false while the index is incomplete or stale. routesReady is the same for predictions about routes, and nil
	// if there are none.
	ready, routesReady func() bool
	// live reads a Service from the API server; may be nil.
	live    func(context.Context, types.NamespacedName) (*corev1.Service, error)
	log     *zap.Logger
	metrics predictionMetrics
	slots   chan struct{}
	timeout time.Duration
}

// newPredictor returns the predictor and the function that keeps it up to date. Both are nil if predictions are off.
func newPredictor(options Options, lang validation.Language, version string, log *zap.Logger,
	registry prometheus.Registerer,
) (*predictor, func(context.Context)) {
	if !options.predict() {
		return nil, nil
	}
	metrics := newPredictionMetrics(registry)
	index := newIndex(lang, time.Now)
	predictor := &predictor{
		lang: lang, index: index, strict: options.strict(), hide: options.hide(), log: log,
		metrics: metrics, slots: make(chan struct{}, maxConcurrent), timeout: predictionTimeout,
	}
	services := &follower{what: "Services", log: log, readyChanged: metrics.ready}
	routes := &follower{what: "Gateways and routes", log: log, readyChanged: func(bool) {}}
	predictor.ready = services.ready
	clients, err := newClients(options.Kubeconfig, version)
	if err != nil { // a retry would fail, too: the configuration is wrong
		log.Error("predictions are off: the API server can't be reached with this configuration; admission continues "+
			"without them", zap.Error(err))
		return predictor, func(context.Context) {}
	}
	predictor.live = clients.service
	services.feeds = []feed{index.services(clients.core)}
	if options.routes() {
		predictor.routesReady = routes.ready
		gateways := newGateways(lang, index)
		index.absent = gateways.absent
		routes.feeds = gateways.feeds(clients)
	}
	return predictor, func(ctx context.Context) {
		var running sync.WaitGroup
		defer running.Wait()
		running.Go(func() { services.run(ctx) })
		running.Go(func() { routes.run(ctx) })
	}
}

// predict returns the predictions for a request without problems. svc is the new object, nil for a deletion.
func (p *predictor) predict(req *admissionv1.AdmissionRequest, svc *corev1.Service) []forecast.Prediction {
	switch {
	case p == nil:
		return nil
	case !p.ready():
		p.metrics.skipped(skippedUnready)
		return nil
	}
	return p.withTimeout(func() []forecast.Prediction {
		old, err := decode(req.OldObject)
		if err != nil {
			old = nil // a creation has no old object
		}
		if portsOf(old)+portsOf(svc) > maxPredictedPorts {
			p.metrics.skipped(skippedLarge)
			return nil
		}
		return p.predictions(old, svc)
	})
}

// withTimeout runs a prediction, and waits for a slot and for the result no longer than the timeout. A late prediction
// keeps its slot until it ends, so there are never more predictions than slots.
func (p *predictor) withTimeout(predict func() []forecast.Prediction) []forecast.Prediction {
	late := time.NewTimer(p.timeout)
	defer late.Stop()
	select {
	case p.slots <- struct{}{}:
	case <-late.C:
		p.metrics.skipped(skippedBusy)
		return nil
	}
	answer := make(chan []forecast.Prediction, 1)
	go func() {
		start := time.Now()
		defer func() {
			p.notePanic(recover())
			p.metrics.duration.Observe(time.Since(start).Seconds())
			<-p.slots
			close(answer)
		}()
		answer <- predict()
	}()
	select {
	case result := <-answer:
		return result
	case <-late.C:
		p.metrics.skipped(skippedBusy)
		return nil
	}
}

// notePanic logs a panic. A panic must not fail the review: with failurePolicy Fail, that would be a denial.
func (p *predictor) notePanic(what any) {
	if what == nil {
		return
	}
	p.metrics.skipped(skippedBroken)
	p.log.Error("a prediction panicked; its review was answered without it", zap.String("panic", fmt.Sprint(what)),
		zap.Stack("stack"))
}

func (p *predictor) predictions(old, svc *corev1.Service) []forecast.Prediction {
	var found []forecast.Prediction
	is, was := p.kind(svc), p.kind(old)
	if was.Mux() && old.DeletionTimestamp == nil {
		found = p.mux(old, svc, is)
	}
	if is == validation.IsChannel {
		found = append(found, p.channel(old, svc, was)...)
	}
	return found
}

func portsOf(svc *corev1.Service) int {
	if svc == nil {
		return 0
	}
	return len(svc.Spec.Ports)
}

func (p *predictor) kind(svc *corev1.Service) validation.Kind {
	if svc == nil {
		return validation.Stranger
	}
	return p.lang.Classify(svc)
}

func (p *predictor) mux(old, svc *corev1.Service, is validation.Kind) []forecast.Prediction {
	outlook := p.index.outlook(keyOf(old))
	switch {
	case outlook == nil:
		return nil
	case svc == nil:
		return outlook.Deleted(p.hide)
	case !is.Mux():
		return outlook.Dropped(p.hide)
	}
	return outlook.Mux(readMux(p.lang, old), readMux(p.lang, svc), p.hide)
}

func (p *predictor) channel(old, svc *corev1.Service, was validation.Kind) []forecast.Prediction {
	after := plan.ReadChannel(p.lang, svc)
	if after.Mux.Name == "" {
		return nil // its class names no mux
	}
	var before *plan.ObservedChannel
	if was == validation.IsChannel {
		channel := plan.ReadChannel(p.lang, old)
		before = &channel
	}
	outlook := p.index.outlook(after.Mux)
	if outlook == nil {
		return nil
	}
	found := outlook.Channel(before, after, p.hide)
	isMissing := func(p forecast.Prediction) bool { return p.Reason == plan.MuxNotFound }
	if slices.ContainsFunc(found, isMissing) && p.hasAppeared(after.Mux) {
		return nil
	}
	return found
}

// hasAppeared reads the mux live, and is true if the mux exists. One kubectl apply often creates a mux and its
// channels, and on a busy cluster a channel's review may come before the watch event of the mux.
func (p *predictor) hasAppeared(mux types.NamespacedName) bool {
	if p.live == nil {
		return false
	}
	ctx, cancel := context.WithTimeout(context.Background(), p.timeout)
	defer cancel()
	svc, err := p.live(ctx, mux)
	return err == nil && p.kind(svc).Mux()
}

// knows is true if a warning that only muxes on gateways honour a setting isn't needed: the channel's mux is known to
// be on gateways, or a prediction says that the mux refuses the setting.
func (p *predictor) knows(warning validation.Reason, svc *corev1.Service, predictions []forecast.Prediction) bool {
	refusal := map[validation.Reason]validation.Reason{
		validation.SourceRangesNeedGateways: validation.SourceRangesNotSupported,
		validation.PortRangesNeedGateways:   plan.PortRangesNotSupported,
	}[warning]
	if refusal == "" || p == nil || !p.ready() || !p.kind(svc).Channel() {
		return false
	}
	if slices.ContainsFunc(predictions, func(p forecast.Prediction) bool { return p.Reason == refusal }) {
		return true
	}
	mux, named := p.lang.ParseClass(*svc.Spec.LoadBalancerClass)
	return named && p.index.isOnGateways(mux)
}

func keyOf(svc *corev1.Service) types.NamespacedName {
	return types.NamespacedName{Namespace: svc.Namespace, Name: svc.Name}
}
