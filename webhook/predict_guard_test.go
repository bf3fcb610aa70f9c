package webhook

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"go.uber.org/zap"
	corev1 "k8s.io/api/core/v1"

	"nowake.ai/svc-lb-mux/reconciler/numbers/forecast"
)

func TestNoPredictionsUntilServicesAreKnown(t *testing.T) {
	seer := newSeer(t)
	seer.strict, seer.ready = true, func() bool { return false }
	if got := seer.review(t, request(t, nil, named("team-a", "web", 80))); !got.Allowed || got.Warnings != nil {
		t.Errorf("the answer is %v", got)
	}
	if got := testutil.ToFloat64(seer.metrics.skips.WithLabelValues(skippedUnready)); got != 1 {
		t.Errorf("%v counted", got)
	}
}

func TestReviewIsAnsweredIfItsPredictionPanics(t *testing.T) {
	seer := newSeer(t)
	seer.index = nil
	for range 2 * maxConcurrent { // each prediction must free its slot
		if got := seer.review(t, request(t, nil, named("team-a", "web", 80))); !got.Allowed || got.Warnings != nil {
			t.Fatalf("the answer is %v", got)
		}
	}
	if got := testutil.ToFloat64(seer.metrics.skips.WithLabelValues(skippedBroken)); got != 2*maxConcurrent {
		t.Errorf("%v counted", got)
	}
	if log := seer.logs.String(); !strings.Contains(log, "nil pointer") || !strings.Contains(log, `"stack":`) {
		t.Errorf("the log is %q", log)
	}
}

func TestReviewDoesNotWaitForASlowPrediction(t *testing.T) {
	seer := newSeer(t)
	seer.timeout = 20 * time.Millisecond
	blocked, begun := make(chan struct{}), make(chan struct{}, maxConcurrent)
	for range maxConcurrent {
		go seer.withTimeout(func() []forecast.Prediction {
			begun <- struct{}{}
			<-blocked
			return nil
		})
		<-begun
	}
	start := time.Now()
	if got := seer.review(t, request(t, nil, named("team-a", "web", 80))); !got.Allowed || got.Warnings != nil {
		t.Errorf("the answer is %v", got)
	}
	if took := time.Since(start); took > time.Second {
		t.Errorf("the review took %v", took)
	}
	close(blocked)
	seer.timeout = time.Minute
	if got := seer.review(t, request(t, nil, named("team-a", "web", 80))); len(got.Warnings) != 1 {
		t.Errorf("with enough time the warnings are %v", got.Warnings)
	}
}

// TestReviewOfVeryManyPortsIsNotPredicted changes a channel that is older than the limit of a channel's ports. The
// change is allowed with a warning about that limit.
func TestReviewOfVeryManyPortsIsNotPredicted(t *testing.T) {
	// the two objects have 2*count-1 ports together
	for count, skips := range map[int]float64{maxPredictedPorts / 2: 0, maxPredictedPorts/2 + 1: 1} {
		seer := newSeer(t)
		svc := named("team-a", "web", 1)
		for i := range count - 1 {
			svc.Spec.Ports = append(svc.Spec.Ports,
				corev1.ServicePort{Name: fmt.Sprintf("p%d", i), Port: int32(i + 2), Protocol: "TCP"})
		}
		old := svc.DeepCopy()
		old.Spec.Ports = old.Spec.Ports[:count-1]
		if got := seer.review(t, request(t, old, svc)); !got.Allowed || len(got.Warnings) != 1 {
			t.Errorf("%d ports: allowed %v, warnings %v", count, got.Allowed, got.Warnings)
		}
		if got := testutil.ToFloat64(seer.metrics.skips.WithLabelValues(skippedLarge)); got != skips {
			t.Errorf("%d ports: %v counted, want %v", count, got, skips)
		}
	}
}

func TestDisabledPredictionsDoNothing(t *testing.T) {
	foresight, follow := newPredictor(Options{}, testLanguage(t), "", zap.NewNop(), nil)
	if foresight != nil || follow != nil {
		t.Error("disabled predictions return a foresight")
	}
	if got := review(testLanguage(t), nil, nil, deletionOf(t, testMux(t, nil))).Response; !got.Allowed ||
		got.Warnings != nil {
		t.Errorf("the answer is %v", got)
	}
}
