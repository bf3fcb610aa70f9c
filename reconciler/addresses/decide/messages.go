package decide

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"nowake.ai/svc-lb-mux/validation"
)

// All messages that users read. Each names the value and the way out.

func list(addresses []netip.Addr) string {
	var texts []string
	for _, a := range slices.SortedFunc(slices.Values(addresses), netip.Addr.Compare) {
		texts = append(texts, a.String())
	}
	return strings.Join(texts, " and ")
}

func textAddressed(addresses []netip.Addr, pool string) string {
	return fmt.Sprintf("the mux has %s of pool %s", list(addresses), pool)
}

func textKeeps(message string, addresses []netip.Addr) string {
	return fmt.Sprintf("%s. Until then, the mux keeps %s", message, list(addresses))
}

func textMoving(from, to []netip.Addr) string {
	return fmt.Sprintf("the mux moves from %s to %s: it shows no address until a gateway carries it", list(from), list(to))
}

func textReclaimed(a netip.Addr, holder string) string {
	return fmt.Sprintf("address %s belongs to %s: this mux doesn't show it any more", a, holder)
}

func textTooManyMuxes(namespace, pool string, has, most int) string {
	return fmt.Sprintf("pool %s allows %d muxes for each namespace, and namespace %s has %d: delete a mux there, and "+
		"wait for the pool's releaseGrace, or raise muxesPerNamespace of the pool", pool, most, namespace, has)
}

func textClaimsFull(pool string, muxes int) string {
	return fmt.Sprintf("the ConfigMap of pool %s has no room for another claim beside those of %d muxes: use another "+
		"pool for this mux, or delete a mux, and wait for the pool's releaseGrace", pool, muxes)
}

func textClaimsLost(pool string) string {
	return fmt.Sprintf("the ConfigMap of pool %s is lost: it is rebuilt from the muxes' statuses in a moment", pool)
}

func textNoGateway(pool string) string {
	return fmt.Sprintf("pool %s has no gateway: start an agent with --pool %s, and look at the pool's selector", pool,
		pool)
}

func textStale(gateways []string) string {
	return fmt.Sprintf("no gateway of the pool renews its Lease (%s): nothing is changed; look whether their agents "+
		"reach the API server",
		strings.Join(gateways, ", "))
}

func textNotProgrammed(addresses []netip.Addr) string {
	return fmt.Sprintf("no gateway has programmed %s yet: if this stays, look at the agents' logs", list(addresses))
}

func textTooFew(programmed []string, wanted int) string {
	return fmt.Sprintf("%d of %d gateways can carry the mux (%s): add gateways to the pool, or lower the annotation "+
		"gateways", len(programmed),
		wanted, strings.Join(programmed, ", "))
}

func textNotHeld(seat uint8, programmed []string) string {
	return fmt.Sprintf("no gateway holds seat %d, which the mux's addresses are on (programmed: %s): if this stays, "+
		"look at the agents' logs", seat,
		strings.Join(programmed, ", "))
}

func textCarried(holders, programmed []string) string {
	others := slices.DeleteFunc(slices.Clone(programmed), func(name string) bool { return slices.Contains(holders, name) })
	if len(others) == 0 {
		return fmt.Sprintf("%s carries the mux, and no other gateway can take over", strings.Join(holders, ", "))
	}
	return fmt.Sprintf("%s carries the mux, and %s can take over", strings.Join(holders, ", "), strings.Join(others, ", "))
}

func textCarriedByAnother(before, now string) string {
	return fmt.Sprintf("gateway %s carries the mux instead of %s", now, before)
}

func textUnknownPool(pool string, known []string) string {
	return fmt.Sprintf("spec.loadBalancerClass: there is no pool %q: use one of %s in a new Service, or add the pool to "+
		"gateways.pools", pool,
		strings.Join(known, ", "))
}

func textNoPool(language validation.Language) string {
	return fmt.Sprintf("spec.loadBalancerClass names no pool: write %s in a new Service",
		language.FormatGatewayClass("<pool>"))
}

func textNotMux(keys validation.Keys) string {
	return fmt.Sprintf("this Service has a class of gateways, but isn't a mux: set the annotation %s to \"true\", or "+
		"take the class away",
		keys.Multiplexer)
}

func textGatewayStale(name string) string {
	return fmt.Sprintf("gateway %s doesn't renew its Lease: nothing is changed; look whether its agent runs and reaches "+
		"the API server. If the machine is gone for good, delete the Lease", name)
}

func textUnselected(name, pool string) string {
	return fmt.Sprintf("gateway %s names pool %s, whose selector doesn't match it: change the selector, or the agent's "+
		"--pool or labels", name, pool)
}

func textIntervalWaits(name string, interval time.Duration) string {
	return fmt.Sprintf("gateway %s hasn't reported that it follows the pool's advert interval of %s: the pool changes "+
		"its intervals once every gateway has: see whether the gateway's agent runs and has the controller's version. If "+
		"the machine is gone for good, delete the Lease", name, interval)
}

func textCapacity(name string, capacity int, pool string, most int) string {
	return fmt.Sprintf("gateway %s says --capacity %d, and pool %s allows %d: it counts as %d; raise maxCapacity of the "+
		"pool, or lower --capacity", name, capacity, pool, most, most)
}

func textInPool(name string, a netip.Addr, pool string) string {
	return fmt.Sprintf("gateway %s says that %s is its own address, and pool %s has it: exclude the address from the "+
		"pool if that is true", name, a, pool)
}

func textCut(name string, omitted int) string {
	return fmt.Sprintf("the report of gateway %s has no room for %d muxes: these get no address; make another pool for "+
		"some muxes", name, omitted)
}
