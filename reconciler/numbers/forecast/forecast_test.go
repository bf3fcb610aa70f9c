package forecast_test

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"nowake.ai/svc-lb-mux/internal/testkit/golden"
	"nowake.ai/svc-lb-mux/reconciler/numbers/forecast"
	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
)

func (q *question) answer(t testing.TB) []forecast.Prediction {
	t.Helper()
	world := plan.World{Keys: english(t).Keys(), Key: muxKey, Channels: channelsOf(t, q.Channels, q.Pending)}
	var live []corev1.ServicePort
	if q.Mux != nil {
		live = q.portsFor(t)
		world.Mux = q.Mux.observed(t, live)
	}
	outlook := forecast.Survey(world)
	var said []forecast.Prediction
	for name, text := range q.Create {
		said = append(said, outlook.Channel(nil, text.observed(t, name), q.Hide)...)
	}
	for name, text := range q.Update {
		before := q.before(t, name)
		said = append(said, outlook.Channel(&before, text.observed(t, name), q.Hide)...)
	}
	switch {
	case q.Becomes != nil:
		said = append(said, outlook.Mux(world.Mux, q.Becomes.observed(t, live), q.Hide)...)
	case q.Deleted:
		said = append(said, outlook.Deleted(q.Hide)...)
	case q.Dropped:
		said = append(said, outlook.Dropped(q.Hide)...)
	}
	return said
}

func (q *question) before(t testing.TB, name string) plan.ObservedChannel {
	t.Helper()
	if text, settled := q.Channels[name]; settled {
		return text.observed(t, name)
	}
	text, pending := q.Pending[name]
	if !pending {
		t.Fatalf("%s: %s isn't there", q.Case, name)
	}
	return text.observed(t, name)
}

func TestPredictions(t *testing.T) {
	count := 0
	for _, story := range golden.Stories(t, "testdata/*.txtar") {
		t.Run(story.Name(), func(t *testing.T) {
			var questions []question
			if err := yaml.UnmarshalStrict(story.Input(), &questions); err != nil {
				t.Fatal(err)
			}
			count += len(questions)
			var b strings.Builder
			for i := range questions {
				fmt.Fprintf(&b, "=== %s\n%s\n", questions[i].Case, predicted(questions[i].answer(t)))
			}
			story.Compare(t, "want.txt", b.String())
		})
	}
	if count < 25 {
		t.Errorf("%d cases, want at least 25", count)
	}
}

// predicted prints predictions: the effect, the message, the field, and whether it is proven.
func predicted(said []forecast.Prediction) string {
	if len(said) == 0 {
		return "nothing to say\n"
	}
	var b strings.Builder
	for _, p := range said {
		if p.Effect != "" {
			b.WriteString(p.Effect + ": ")
		}
		b.WriteString(p.Message + "\n  " + string(p.Reason))
		if p.Field != "" {
			b.WriteString(" at " + p.Field)
		}
		if p.Port != "" {
			b.WriteString(", port " + p.Port)
		}
		if p.Proven {
			b.WriteString(", proven")
		}
		b.WriteString("\n")
	}
	return b.String()
}
