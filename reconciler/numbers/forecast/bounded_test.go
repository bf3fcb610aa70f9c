package forecast_test

import (
	"fmt"
	"strings"
	"testing"

	"nowake.ai/svc-lb-mux/reconciler/numbers/forecast"
	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
)

// TestNoSettingMakesALongPrediction: a mux's longest lists are shortened in messages.
func TestNoSettingMakesALongPrediction(t *testing.T) {
	var namespaces, numbers []string
	for i := range 3000 {
		namespaces = append(namespaces, fmt.Sprintf("team-%d-*", i))
		numbers = append(numbers, fmt.Sprint(20000+2*i))
	}
	before := &muxText{}
	after := &muxText{Annotations: map[string]string{
		"allowed-namespaces": strings.Join(namespaces, ","), "port-range": strings.Join(numbers, ","), "max-ports": "9",
	}}
	q := question{Mux: before, Channels: map[string]channelText{"app/web": {Ports: "http:80"}}}
	live := q.portsFor(t)
	mux := before.observed(t, live)
	outlook := forecast.Survey(plan.World{Keys: english(t).Keys(), Key: muxKey, Mux: mux,
		Channels: channelsOf(t, q.Channels)})
	changed := after.observed(t, live)
	if len(changed.Problems) > 0 {
		t.Fatal(changed.Problems)
	}
	told := outlook.Mux(mux, changed, false)
	if len(told) == 0 || told[0].Reason != forecast.ChannelsDetached {
		t.Fatalf("predicted %+v", told)
	}
	for _, prediction := range told {
		if len(prediction.Message) > 1<<10 || !strings.Contains(prediction.Message, " more") &&
			prediction.Reason == forecast.ChannelsDetached {
			t.Errorf("%d bytes: %.200s...", len(prediction.Message), prediction.Message)
		}
	}
}
