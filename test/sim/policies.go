package sim

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nowake.ai/svc-lb-mux/test/sim/api"
)

// Policed is the first seed whose histories have policies. Histories of smaller seeds replay as before.
const Policed = 10_000_000

// policies are the admission policies that refuse requests of the reconciler. Unlike faults, they stay until they are
// lifted. They refuse only the reconciler: others simply don't write what is forbidden.
type policies struct {
	numbers   map[int32]bool                // numbers that no mux may have
	mute      map[types.NamespacedName]bool // Services whose status can't be written
	noLedgers bool                          // no ConfigMap can be created
}

func (p *policies) stand() bool { return len(p.numbers)+len(p.mute) > 0 || p.noLedgers }

// policy adds or lifts a policy, as a cluster's administrator does.
func (w *world) policy() string {
	p := &w.policies
	switch w.rng.IntN(8) {
	case 0, 1, 2:
		if p.numbers == nil {
			p.numbers = map[int32]bool{}
		}
		number := pick(w.Sim, int32(100), 102, 110, 203, 204, 205, 206)
		p.numbers[number] = true
		return fmt.Sprintf("a policy forbids %d on muxes", number)
	case 3, 4:
		if p.mute == nil {
			p.mute = map[types.NamespacedName]bool{}
		}
		key := types.NamespacedName{Namespace: pick(w.Sim, "app", "other"), Name: pick(w.Sim, "a", "b", "c")}
		p.mute[key] = true
		return fmt.Sprintf("a policy forbids the status of %s", key)
	case 5:
		p.noLedgers = true
		return "a quota has no room for another ConfigMap"
	}
	return w.lift()
}

func (w *world) lift() string {
	if !w.policies.stand() {
		return ""
	}
	w.policies = policies{}
	return "no policy forbids anything any more"
}

// refuse returns admission's refusal of a request, or nil.
func (s *Sim) refuse(c *call) error {
	p, no := &s.policies, ""
	if c.Object == nil || !p.stand() {
		return nil
	}
	key := client.ObjectKeyFromObject(c.Object)
	switch {
	case c.Kind == api.ConfigMaps && c.Verb == "create" && p.noLedgers:
		no = "exceeded quota"
	case c.Kind == api.Services && c.Verb == "patch/status" && p.mute[key]:
		no = "its status is nobody's business"
	case c.Kind == api.Services && c.Verb == "patch":
		no = s.forbidden(key, c.Body)
	}
	if no == "" {
		return nil
	}
	s.point("policy: " + strings.Fields(no)[0])
	s.refused++
	return apierrors.NewForbidden(c.Kind.Resource(), key.Name, errors.New(no))
}

// forbidden returns which port of a Service is forbidden, either in its present state or after a patch.
func (s *Sim) forbidden(key types.NamespacedName, patch []byte) string {
	var to struct {
		Spec struct{ Ports []corev1.ServicePort }
	}
	if err := json.Unmarshal(patch, &to); err != nil {
		panic(err)
	}
	if svc := s.world.service(key); svc != nil && to.Spec.Ports == nil {
		to.Spec.Ports = svc.Spec.Ports
	}
	for i := range to.Spec.Ports {
		if number := to.Spec.Ports[i].Port; s.policies.numbers[number] {
			return fmt.Sprintf("port %d is forbidden", number)
		}
	}
	return ""
}
