package plan_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"nowake.ai/svc-lb-mux/reconciler/numbers/forecast"
	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
)

// narrowed is a world with disabled channels. Only the ledger records that they hold numbers, and no LIMIT of the mux's
// owner takes a held number away.
const narrowed = `
kind: Service
metadata: {namespace: svc-mux, name: mux, annotations: {svc-mux.nowake.ai/multiplexer: "true",
  svc-mux.nowake.ai/port-range: 20000-20009}}
spec:
  ports:
  - {name: placeholder, port: 101}
---
kind: Service
metadata: {name: web}
spec:
  ports:
  - {name: https, port: 8443}
---
kind: Service
metadata: {name: any, annotations: {svc-mux.nowake.ai/external-ports: "http:auto"}}
spec:
  ports:
  - {name: http, port: 80}
---
kind: Then
title: they are disabled
---
kind: Service
metadata: {name: web, annotations: {svc-mux.nowake.ai/disabled: "true"}}
---
kind: Service
metadata: {name: any, annotations: {svc-mux.nowake.ai/disabled: "true"}}
---
kind: Then
title: the mux's owner narrows everything
---
kind: Service
metadata: {namespace: svc-mux, name: mux, annotations: {LIMIT}}
---
kind: Then
title: they come back
---
kind: Service
metadata: {name: web, annotations: {svc-mux.nowake.ai/disabled: null}}
---
kind: Service
metadata: {name: any, annotations: {svc-mux.nowake.ai/disabled: null}}
`

// TestProvenRefusalIsDecided: whatever the ledger holds, the reconciler refuses a channel whose refusal is proven.
func TestProvenRefusalIsDecided(t *testing.T) {
	proven := 0
	for _, world := range worlds(t) {
		if strings.Contains(world.Name(), "-matches-the-seven-digits-") {
			continue // two channels match the port's name, so Services don't prove the owner
		}
		proven += provenIn(t, world.Name(), world.Input())
	}
	if proven < 20 {
		t.Errorf("%d changes are proven to be refused, want at least 20", proven)
	}
	for _, limit := range []string{
		"svc-mux.nowake.ai/explicit-range: 20000-20099", "svc-mux.nowake.ai/allowed-protocols: UDP",
		`svc-mux.nowake.ai/max-ports: "1"`,
		`svc-mux.nowake.ai/max-ports-per-namespace: "1"`, "svc-mux.nowake.ai/port-range: null",
	} {
		if n := provenIn(t, limit, bytes.ReplaceAll([]byte(narrowed), []byte("LIMIT"), []byte(limit))); n != 0 {
			t.Errorf("%s: %d changes are proven to be refused, want 0", limit, n)
		}
	}
}

func provenIn(t *testing.T, file string, text []byte) (proven int) {
	t.Helper()
	c := newCluster(t)
	for _, stage := range readStory(t, text).stages {
		for _, doc := range stage.docs {
			was := c.world()
			c.enact(t, doc)
			if doc["kind"] == "Service" {
				proven += c.provenOf(t, file+", "+stage.title, was)
			}
		}
		for range 4 {
			if _, final := c.decide(); c.apply(final) != nil {
				break
			}
		}
	}
	return proven
}

// provenOf predicts the last change of a channel from the Services before it, and checks that the decision agrees. It
// returns how many refusals were proven.
func (c *cluster) provenOf(t *testing.T, where string, was plan.World) (proven int) {
	t.Helper()
	is := c.world()
	outlook := forecast.Survey(plan.World{Now: was.Now, Keys: was.Keys, Key: was.Key, Mux: was.Mux,
		Channels: was.Channels})
	_, decided := c.decide()
	for _, after := range is.Channels {
		var before *plan.ObservedChannel
		if i := slices.IndexFunc(was.Channels, func(b plan.ObservedChannel) bool { return b.Key == after.Key }); i >= 0 {
			before = &was.Channels[i]
		}
		if before != nil && before.ResourceVersion == after.ResourceVersion {
			continue
		}
		for _, said := range outlook.Channel(before, after, false) {
			if !said.Proven {
				continue
			}
			proven++
			for _, v := range decided.Verdicts {
				if v.Channel == after.Key && v.Accepted {
					t.Errorf("%s: %s is accepted, though its refusal was proven: %s", where, v.Channel, said.Message)
				}
			}
		}
	}
	return proven
}
