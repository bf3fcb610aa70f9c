package dryrun

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
	"nowake.ai/svc-lb-mux/reconciler/numbers/record"
	"nowake.ai/svc-lb-mux/reconciler/sight"
)

// carryOut writes a plan into the copy, in the order of the reconciler.
func (c *Cluster) carryOut(seen *sight.Sight) error {
	p := seen.Plan
	if p.Reserve != nil {
		if err := c.writeLedger(seen.World.Mux, p.Reserve); err != nil {
			return err
		}
	}
	for i := range p.Hide {
		c.show(&p.Hide[i])
	}
	if p.Publish != nil {
		c.publish(seen.World.Key, p.Publish)
	}
	if p.Settle != nil {
		if err := c.writeLedger(seen.World.Mux, p.Settle); err != nil {
			return err
		}
	}
	for i := range p.Show {
		c.show(&p.Show[i])
	}
	return nil
}

func (c *Cluster) writeLedger(mux *plan.ObservedMux, write *plan.LedgerWrite) error {
	contents, err := record.Encode(write.Ledger, c.Language.Keys())
	if err != nil {
		return err
	}
	c.ConfigMaps[types.NamespacedName{Namespace: mux.Key.Namespace, Name: mux.Ledger}] = &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: mux.Key.Namespace, Name: mux.Ledger, Labels: contents.Labels,
			Annotations: contents.Annotations},
		Data:       map[string]string{record.PlainKey: contents.Plain},
		BinaryData: map[string][]byte{record.PackedKey: contents.Packed},
	}
	return nil
}

func (c *Cluster) publish(mux types.NamespacedName, patch *plan.MuxPatch) {
	svc := c.Services[mux].DeepCopy()
	if patch.Ports != nil {
		svc.Spec.Ports = patch.Ports
	}
	for name, value := range patch.Annotations {
		annotate(svc, name, value)
	}
	svc.Finalizers = slices.DeleteFunc(svc.Finalizers, func(name string) bool { return name == patch.DropFinalizer })
	c.Services[mux] = svc
}

func (c *Cluster) show(patch *plan.ChannelPatch) {
	svc := c.Services[patch.Channel].DeepCopy()
	if patch.SetAddress {
		svc.Status.LoadBalancer.Ingress = patch.Address
	}
	if patch.SetNote {
		annotate(svc, c.Language.Keys().Ports, patch.PortsNote)
	}
	svc.Finalizers = slices.DeleteFunc(svc.Finalizers, func(name string) bool { return name == patch.Leftovers.Finalizer })
	for _, name := range patch.Leftovers.Annotations {
		annotate(svc, name, "")
	}
	svc.Status.Conditions = withConditions(svc.Status.Conditions, patch)
	c.Services[patch.Channel] = svc
}

// withConditions returns conditions after a patch, sorted by type.
func withConditions(conditions []metav1.Condition, patch *plan.ChannelPatch) []metav1.Condition {
	conditions = slices.DeleteFunc(conditions, func(old metav1.Condition) bool {
		return slices.Contains(patch.Drop, old.Type) ||
			slices.ContainsFunc(patch.Conditions, func(set metav1.Condition) bool { return set.Type == old.Type })
	})
	conditions = append(conditions, patch.Conditions...)
	slices.SortFunc(conditions, func(a, b metav1.Condition) int { return cmp.Compare(a.Type, b.Type) })
	return conditions
}

// annotate sets an annotation, or takes it away if the value is empty.
func annotate(svc *corev1.Service, name, value string) {
	if svc.Annotations == nil {
		svc.Annotations = map[string]string{}
	}
	if svc.Annotations[name] = value; value == "" {
		delete(svc.Annotations, name)
	}
}
