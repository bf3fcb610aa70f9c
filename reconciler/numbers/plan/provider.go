package plan

import (
	"fmt"

	"nowake.ai/svc-lb-mux/validation"
)

// keepProvider keeps the limits of the provider that the ledger recorded, if the mux's owner names no provider by class
// or annotation. An annotation that the chart sets by default doesn't count. The load balancer still belongs to that
// provider, so a lost annotation must not lift a limit. The owner ends this by naming a provider. A mux that was
// deleted and created again starts without those limits.
func (r *reader) keepProvider() {
	before := &r.before
	known, mux := before.ledger.MuxUID, r.w.Mux
	last, recorded := validation.ProviderCalled(before.ledger.Provider)
	if recorded && !mux.ProviderNamed && last.Key != mux.Provider.Key && (known == "" || known == mux.UID) {
		kept := *mux
		kept.Mux = mux.Under(last)
		r.w.Mux = &kept
		r.warn(validation.ProviderPortLimitApplied, textProviderKept(last, r.w.Keys.Provider))
	}
	if before.ledger.Provider != r.w.Mux.Provider.Key && before.mend == "" && len(r.claims) > 0 {
		before.mend = "the ledger names the mux's provider"
	}
}

func textProviderKept(last validation.Provider, key string) string {
	return fmt.Sprintf("no class or annotation of yours tells the provider any more: the limits of %s stay, which was "+
		"the last one. Set %s to %s, or to another provider, or to none", last.Name, key, last.Key)
}
