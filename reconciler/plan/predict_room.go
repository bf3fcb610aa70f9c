package plan

import (
	corev1 "k8s.io/api/core/v1"

	"nowake.ai/svc-lb-mux/validation"
)

// When numbers or places count as about to run out: a tenth of them is left, and no more than ten. A mux of 5,000 ports
// isn't full at 4,500, and one of 20 is nearly so at 18.
const (
	scarceShare = 10
	scarceMost  = 10
)

func scarce(left, of int) bool { return left <= min(of/scarceShare, scarceMost) }

// fewPlaces tells of a mux that is nearly full.
func (p *pass) fewPlaces() []Prediction {
	limit := p.w.Mux.Cap.Ports
	if left := limit - p.held; scarce(left, limit) {
		return soon(MuxNearlyFull, textNearlyFull(p.w.Mux, left))
	}
	return nil
}

// fewOf tells of a namespace that has nearly all it may have.
func (p *pass) fewOf(namespace string) []Prediction {
	quota := p.w.Mux.CapPerNamespace
	if left := quota - p.heldBy[namespace]; quota > 0 && scarce(left, quota) {
		return soon(NamespaceNearlyFull, textQuotaNearlyFull(p.w.Mux, namespace, left))
	}
	return nil
}

// fewNumbers tells of a range with few numbers left.
func (p *pass) fewNumbers(protocol corev1.Protocol) []Prediction {
	left, of := p.freeNumbers(protocol), p.w.Mux.Auto.Len()
	if of == 0 || !scarce(left, of) {
		return nil
	}
	return soon(RangeNearlyUsedUp, textNearlyUsedUp(p.w.Mux, protocol, left))
}

// soon is a prediction of what isn't so yet.
func soon(reason validation.Reason, message string) []Prediction {
	return []Prediction{{Problem: validation.Problem{Reason: reason, Message: message}}}
}
