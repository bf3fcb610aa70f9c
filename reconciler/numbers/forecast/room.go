package forecast

import (
	corev1 "k8s.io/api/core/v1"

	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
)

// Numbers or ports are scarce if at most a tenth is left, and no more than ten. A mux of 5,000 ports isn't nearly full
// at 4,500, and a mux of 20 is at 18.
const (
	scarceShare = 10
	scarceMost  = 10
)

func scarce(left, of int) bool { return left <= min(of/scarceShare, scarceMost) }

// warnOfFewPorts warns of a mux that is nearly full.
func warnOfFewPorts(mux *plan.ObservedMux, of plan.Judgement) []Prediction {
	held, _ := of.InUse("")
	if left := mux.Cap.Ports - held; scarce(left, mux.Cap.Ports) {
		return predict(MuxNearlyFull, "", textNearlyFull(mux, left))
	}
	return nil
}

// warnOfQuota warns of a namespace that has nearly used up its quota.
func warnOfQuota(mux *plan.ObservedMux, of plan.Judgement, namespace string) []Prediction {
	quota := mux.CapPerNamespace
	_, held := of.InUse(namespace)
	if left := quota - held; quota > 0 && scarce(left, quota) {
		return predict(NamespaceNearlyFull, "", textQuotaNearlyFull(mux, namespace, left))
	}
	return nil
}

// warnOfFewNumbers warns of a range with few free numbers.
func warnOfFewNumbers(mux *plan.ObservedMux, of plan.Judgement, protocol corev1.Protocol) []Prediction {
	left, all := of.Free(protocol), mux.Auto.Len()
	if all == 0 || !scarce(left, all) {
		return nil
	}
	return predict(RangeNearlyUsedUp, "", textNearlyUsedUp(mux, protocol, left))
}
