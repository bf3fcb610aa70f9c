package looktest

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"nowake.ai/svc-lb-mux/cmd/svcmux/look"
	"nowake.ai/svc-lb-mux/reconciler/backends/project"
	"nowake.ai/svc-lb-mux/reconciler/numbers/claimants"
	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
	"nowake.ai/svc-lb-mux/reconciler/numbers/record"
	"nowake.ai/svc-lb-mux/reconciler/sight"
)

// World returns the objects as svcmux holds them.
func (c *Cluster) World() *look.World {
	w := look.NewWorld(c.language, func(types.NamespacedName) bool { return true })
	for _, svc := range c.services() {
		w.PutService(svc)
	}
	for _, slice := range c.slices() {
		w.PutSlice(slice)
	}
	for _, cm := range c.configMaps() {
		w.ConfigMaps[types.NamespacedName{Namespace: cm.Namespace, Name: cm.Name}] = cm
	}
	c.putListeners(w)
	return w
}

// putListeners adds the listeners of muxes that are made for Gateways.
func (c *Cluster) putListeners(w *look.World) {
	api := &look.GatewayAPI{Namespaces: map[string]labels.Set{}, Sets: list[gatewayv1.ListenerSet](c, "ListenerSet")}
	for _, namespace := range list[corev1.Namespace](c, "Namespace") {
		api.Namespaces[namespace.Name] = namespace.Labels
	}
	for _, route := range list[gatewayv1.TCPRoute](c, "TCPRoute") {
		api.Add(route)
	}
	for _, gateway := range list[gatewayv1.Gateway](c, "Gateway") {
		for _, svc := range c.services() {
			if owner := metav1.GetControllerOf(svc); owner != nil && owner.Name == gateway.Name &&
				svc.Namespace == gateway.Namespace {
				w.PutListeners(svc, gateway, api)
			}
		}
	}
}

// reconcile carries plans out until none is left.
func (c *Cluster) reconcile() {
	c.t.Helper()
	const most = 10
	for range most {
		done := true
		for _, mux := range c.World().Index().Existing() {
			done = c.pass(mux) && done
		}
		if done {
			return
		}
	}
	c.t.Fatal("the cluster doesn't come to rest")
}

// pass makes one pass over a mux. It returns true if there was nothing to do.
func (c *Cluster) pass(mux types.NamespacedName) bool {
	seen, err := c.World().Index().Sight(mux, c.now)
	if err != nil {
		c.t.Fatal(err)
	}
	world := seen.World
	world.Live, world.Confirmed = map[types.NamespacedName]plan.Liveness{}, map[types.NamespacedName]bool{}
	p := plan.Mux(world, plan.Memory{})
	for range 3 {
		for _, key := range p.Confirm {
			world.Confirmed[key], world.Live[key] = true, plan.Gone
		}
		p = plan.Mux(world, plan.Memory{})
	}
	for _, write := range [...]*plan.LedgerWrite{p.Reserve, p.Settle} {
		if write != nil {
			c.putLedger(world.Mux, write)
		}
	}
	if p.Publish != nil {
		c.publish(mux, p.Publish)
	}
	// statuses of Gateways are in the file
	p.Show = slices.DeleteFunc(p.Show, func(patch plan.ChannelPatch) bool { return !claimants.IsService(patch.Channel) })
	for _, patch := range append(p.Hide, p.Show...) {
		c.show(&patch)
	}
	return c.carry(seen, p) && p.Empty()
}

func (c *Cluster) putLedger(mux *plan.ObservedMux, write *plan.LedgerWrite) {
	contents, err := record.Encode(write.Ledger, c.language.Keys())
	if err != nil {
		c.t.Fatal(err)
	}
	c.put("ConfigMap", &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: mux.Key.Namespace, Name: mux.Ledger, Labels: contents.Labels,
			Annotations: contents.Annotations},
		Data:       map[string]string{record.PlainKey: contents.Plain},
		BinaryData: map[string][]byte{record.PackedKey: contents.Packed},
	})
}

func annotate(meta *metav1.ObjectMeta, name, value string) {
	if meta.Annotations == nil {
		meta.Annotations = map[string]string{}
	}
	if meta.Annotations[name] = value; value == "" {
		delete(meta.Annotations, name)
	}
}

func (c *Cluster) publish(mux types.NamespacedName, patch *plan.MuxPatch) {
	svc := get[corev1.Service](c, key{"Service", mux})
	if patch.Ports != nil {
		svc.Spec.Ports = patch.Ports
	}
	for name, value := range patch.Annotations {
		annotate(&svc.ObjectMeta, name, value)
	}
	c.put("Service", svc)
}

func (c *Cluster) show(patch *plan.ChannelPatch) {
	svc := get[corev1.Service](c, key{"Service", patch.Channel})
	if patch.SetAddress {
		svc.Status.LoadBalancer.Ingress = patch.Address
	}
	if patch.SetNote {
		annotate(&svc.ObjectMeta, c.language.Keys().Ports, patch.PortsNote)
	}
	drop := map[string]bool{}
	for _, kind := range patch.Drop {
		drop[kind] = true
	}
	for i := range patch.Conditions {
		drop[patch.Conditions[i].Type] = true
	}
	kept := patch.Conditions
	for i := range svc.Status.Conditions {
		if !drop[svc.Status.Conditions[i].Type] {
			kept = append(kept, svc.Status.Conditions[i])
		}
	}
	svc.Status.Conditions = kept
	c.put("Service", svc)
}

// carry carries slices as the backends line does.
func (c *Cluster) carry(seen *sight.Sight, p *plan.Plan) bool {
	mux, quiet := seen.World.Mux, true
	for i := range seen.World.Channels {
		channel := &seen.World.Channels[i]
		var claims []plan.Claim
		for _, claim := range p.InForce {
			if claim.Owner.Channel == channel.Key && !channel.Disabled {
				claims = append(claims, claim)
			}
		}
		decided := project.Decide(project.View{
			Keys: c.language.Keys(), Channel: channel.Key, ClaimsKnown: true, Claims: claims,
			Ports:   get[corev1.Service](c, key{"Service", channel.Key}).Spec.Ports,
			Sources: seen.Sources[channel.Key], Carried: seen.Carried[channel.Key],
			Mux: project.Mux{Key: mux.Key, UID: mux.UID, IsMux: true, Families: mux.Families},
		})
		for _, step := range decided.Steps {
			quiet = false
			if step.Op == project.Delete {
				delete(c.objects, key{"EndpointSlice",
					types.NamespacedName{Namespace: step.Slice.Namespace, Name: step.Slice.Name}})
				continue
			}
			c.put("EndpointSlice", step.Slice)
		}
	}
	return quiet
}
