package plan

import (
	corev1 "k8s.io/api/core/v1"

	"nowake.ai/svc-lb-mux/validation"
)

// Numbers or ports are scarce if at most a tenth is left, and no more than ten. A mux of 5,000 ports isn't nearly full at
// 4,500, and a mux of 20 is at 18.
const (
	scarceShare = 10
	scarceMost  = 10
)

func scarce(left, of int) bool { return left <= min(of/scarceShare, scarceMost) }

// warnOfFewPorts warns of a mux that is nearly full.
func (p *pass) warnOfFewPorts() []Prediction {
	limit := p.w.Mux.Cap.Ports
	if left := limit - p.held; scarce(left, limit) {
		return warning(MuxNearlyFull, textNearlyFull(p.w.Mux, left))
	}
	return nil
}

// warnOfQuota warns of a namespace that has nearly used up its quota.
func (p *pass) warnOfQuota(namespace string) []Prediction {
	quota := p.w.Mux.CapPerNamespace
	if left := quota - p.heldBy[namespace]; quota > 0 && scarce(left, quota) {
		return warning(NamespaceNearlyFull, textQuotaNearlyFull(p.w.Mux, namespace, left))
	}
	return nil
}

// warnOfFewNumbers warns of a range with few free numbers.
func (p *pass) warnOfFewNumbers(protocol corev1.Protocol) []Prediction {
	left, of := p.freeNumbers(protocol), p.w.Mux.Auto.Len()
	if of == 0 || !scarce(left, of) {
		return nil
	}
	return warning(RangeNearlyUsedUp, textNearlyUsedUp(p.w.Mux, protocol, left))
}

func warning(reason validation.Reason, message string) []Prediction {
	return []Prediction{{Problem: validation.Problem{Reason: reason, Message: message}}}
}
