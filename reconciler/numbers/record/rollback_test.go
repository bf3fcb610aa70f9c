package record

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
)

// theOriginal reads and writes a ledger as the original's documents say. It reads its own fields, from portClaims or
// else from allocations. It keeps other fields of a claim until the claim changes, and drops all other fields.
type theOriginal struct {
	claims map[string]map[string]any
}

func (o *theOriginal) load(cm *corev1.ConfigMap) error {
	if owner := cm.Annotations["svc-mux.nowake.ai/mux"]; owner != "" && owner != "svc-mux/mux" {
		return fmt.Errorf("owned by mux %s", owner)
	}
	o.claims = map[string]map[string]any{}
	if cm.Data["allocations.json"] == "" {
		return nil
	}
	var state map[string]any
	if err := json.Unmarshal([]byte(cm.Data["allocations.json"]), &state); err != nil {
		return err
	}
	if mux, ok := state["mux"].(map[string]any); ok && (mux["namespace"] != "svc-mux" || mux["name"] != "mux") {
		return fmt.Errorf("state for mux %v", mux)
	}
	list, ok := state["portClaims"].([]any)
	if !ok {
		list, _ = state["allocations"].([]any)
	}
	for _, item := range list {
		claim := item.(map[string]any)
		o.claims[fmt.Sprint(claim["protocol"], ":", claim["namespace"], ":", claim["service"], ":",
			claim["portName"])] = claim
	}
	return nil
}

func (o *theOriginal) save(cm *corev1.ConfigMap) {
	state := map[string]any{"schemaVersion": 1, "mux": map[string]any{"namespace": "svc-mux", "name": "mux"}}
	claims, autos := []any{}, []any{}
	for _, key := range slices.Sorted(maps.Keys(o.claims)) {
		claims = append(claims, o.claims[key])
		if o.claims[key]["source"] == "auto" {
			autos = append(autos, o.claims[key])
		}
	}
	state["portClaims"], state["allocations"] = claims, autos
	text, err := json.MarshalIndent(state, "", "  ")
	if err != nil {
		panic(err)
	}
	if cm.Data == nil {
		cm.Data = map[string]string{}
	}
	cm.Data["allocations.json"] = string(text)
}

// TestTheOriginalReadsWhatWeWrote: after a rollback, the original finds every claim in force, and none that was
// released.
func TestTheOriginalReadsWhatWeWrote(t *testing.T) {
	all := claims(4)
	all[1].Source = plan.Static
	all[2].State, all[3].State, all[3].Until = plan.Releasing, plan.InGrace, moment.Add(time.Hour)
	cm := encode(t, plan.Ledger{Mux: mux, Generation: 7, Claims: all})
	var o theOriginal
	if err := o.load(cm); err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for key, c := range o.claims {
		got[key] = fmt.Sprint(c["channelPort"], " ", c["muxPort"], " ", c["port"], " ", c["source"])
	}
	want := map[string]string{
		"TCP:team-000:service-00000:http": "80 1 1 auto",
		"TCP:team-001:service-00001:http": "80 2 2 static",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	var first struct {
		Allocations []struct {
			Namespace, Service, PortName, Protocol, Source string
			Port                                           int
		}
	}
	if err := json.Unmarshal([]byte(cm.Data[PlainKey]), &first); err != nil {
		t.Fatal(err)
	}
	if len(first.Allocations) != 1 || first.Allocations[0].Service != "service-00000" || first.Allocations[0].Port != 1 {
		t.Errorf("its first version reads %v", first.Allocations)
	}
}

// TestThereAndBackAgain is an upgrade, a rollback, and another upgrade. The mux still has the generation from the first
// upgrade. A ledger without a generation would look like a restored backup, which freezes the mux.
func TestThereAndBackAgain(t *testing.T) {
	for what, before := range map[string]*corev1.ConfigMap{
		"plain":  encode(t, plan.Ledger{Mux: mux, Generation: 7, Claims: claims(3)}),
		"packed": encode(t, plan.Ledger{Mux: mux, Generation: 7, Claims: claims(3000)}),
	} {
		t.Run(what, func(t *testing.T) {
			var o theOriginal
			if err := o.load(before); err != nil {
				t.Fatal(err)
			}
			o.claims = map[string]map[string]any{"TCP:app:api:http": {"namespace": "app", "service": "api", "portName": "http",
				"protocol": "TCP", "channelPort": 80, "muxPort": 8080, "port": 8080, "source": "static"}}
			o.save(before)
			got := Decode(before, mux, keys)
			if got.Condition != plan.Edited || got.Ledger.Generation != 7 || len(got.Ledger.Claims) != 1 ||
				got.Ledger.Claims[0].Public != 8080 {
				t.Errorf("it is read as %d of generation %d: %v", got.Condition, got.Ledger.Generation, got.Ledger.Claims)
			}
		})
	}
}
