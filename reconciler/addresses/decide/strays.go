package decide

import (
	"k8s.io/utils/ptr"

	"nowake.ai/svc-lb-mux/validation"
)

// Strays decides the statuses of Services that belong to no pool of the configuration. It never changes their
// addresses: an admin who takes a pool out of the configuration by mistake must not take muxes down. The result changes
// only conditions and our annotation. The caller writes it like Show.
func Strays(language validation.Language, pools []string, others []Mux) []Status {
	var d deciding
	for i := range others {
		m := &others[i]
		set := Status{Mux: m, Carried: m.carried, CarriedBy: m.carriedBy}
		switch _, isOnGateways := language.GatewayPool(ptr.Deref(m.Service.Spec.LoadBalancerClass, "")); {
		case !isOnGateways:
			set = Status{Mux: m, Clean: true}
		case !m.IsMux:
			set.Addressed = Condition{no, NotMux, textNotMux(language.Keys())}
		case m.Pool == "":
			set.Addressed = Condition{no, PoolUnknown, textNoPool(language)}
		default:
			set.Addressed = Condition{no, PoolUnknown, textUnknownPool(m.Pool, pools)}
		}
		if len(m.Shown) > 0 && !set.Clean {
			set.Addressed.Message = textKeeps(set.Addressed.Message, m.Shown)
		}
		d.write(m, set)
	}
	return d.Show
}
