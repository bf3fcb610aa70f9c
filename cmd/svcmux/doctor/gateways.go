package doctor

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	coordinationv1 "k8s.io/api/coordination/v1"

	"nowake.ai/svc-lb-mux/balancer/lease"
	"nowake.ai/svc-lb-mux/cmd/svcmux/cli"
)

// controller is the container of the gateways' controller.
const controller = "controller"

// gateways checks each gateway by its Lease, if the cluster has gateways.
func (e *examination) gateways() {
	for _, d := range e.find(controller) {
		var list coordinationv1.LeaseList
		at := "namespace " + cli.Shown(d.Namespace)
		keys := e.ask.Language.Keys()
		_, err := e.cluster.JSONList(e.ctx, "/apis/coordination.k8s.io/v1/namespaces/"+d.Namespace+"/leases", keys.Pool,
			&list)
		if err != nil {
			e.failed("gateways", "the Leases of gateways in "+at, err)
			continue
		}
		var found []lease.Gateway
		for i := range list.Items {
			if g, is := lease.Read(&list.Items[i], keys); is {
				found = append(found, g)
			}
		}
		if len(found) == 0 {
			e.add("gateways", Failure, "no gateway has registered in "+at+": muxes of pools get no address",
				"see kubectl get daemonsets --namespace "+cli.Shown(d.Namespace)+"; a pool's nodeSelector must match nodes")
		}
		slices.SortFunc(found, func(a, b lease.Gateway) int {
			return cmp.Or(strings.Compare(a.Pool, b.Pool), strings.Compare(a.Name, b.Name))
		})
		for i := range found {
			e.gateway(&found[i])
		}
	}
}

// gateway checks one gateway.
func (e *examination) gateway(g *lease.Gateway) {
	name := fmt.Sprintf("%s of pool %s", cli.Shown(g.Name), cli.Shown(g.Pool))
	switch age := e.now.Sub(g.RenewedAt); {
	case g.RenewedAt.IsZero():
		e.add("gateway", Failure, name+" has never renewed its Lease", "read its agent's log")
		return
	case age > slack*g.Duration:
		e.add("gateway", Failure, fmt.Sprintf("%s last renewed its Lease %s ago", name, cli.Age(age)),
			"see whether its agent runs and reaches the API server; if the machine is gone for good, delete the Lease "+
				cli.Shown(lease.Name(g.Name)))
		return
	case len(g.Problems) > 0:
		e.add("gateway", Warning, name+" has a Lease that can't be read whole: "+cli.Sentence(strings.Join(g.Problems, "; ")),
			"upgrade all parts to one release")
		return
	case g.Report == nil:
		e.add("gateway", Warning, name+" hasn't reported yet", "if this lasts, read its agent's log")
		return
	}
	for _, fault := range g.Report.Faults {
		e.add("gateway", Failure,
			fmt.Sprintf("%s reports %s: %s", name, cli.Shown(fault.Reason), cli.Sentence(fault.Message)), "see docs/gateways.md")
	}
	refused := 0
	for i := range g.Report.Muxes {
		refused += len(g.Report.Muxes[i].Refused) + g.Report.Muxes[i].MoreRefused
	}
	if refused > 0 {
		e.add("gateway", Warning, fmt.Sprintf("%s refuses %s of muxes", name, cli.Count(refused, "part")),
			"the condition Carried of those muxes names each")
	}
	failing := failingOf(g.Report)
	if len(failing) > 0 {
		e.add("gateway", Warning,
			fmt.Sprintf("%s can't connect to %s: %s", name, cli.Count(len(failing), "backend"), someOf(failing)),
			"see whether those pods and their nodes live, and whether a NetworkPolicy lets the gateway's own address in")
	}
	switch {
	case len(g.Report.Faults)+refused+len(failing) > 0:
	case g.Facts != nil && g.Facts.Version != "" && g.Facts.Version != e.version:
		e.add("gateway", Warning, fmt.Sprintf("%s is %s, and this program is %s",
			name, cli.Shown(g.Facts.Version), cli.Shown(e.version)),
			"upgrade all parts to one release")
	default:
		e.add("gateway", OK, fmt.Sprintf("%s is alive, serves %s, and holds %s", name, muxesOf(g.Report), seatsOf(g)), "")
	}
}

func failingOf(r *lease.Report) (failing []string) {
	if r.Probes != nil {
		for _, backend := range r.Probes.Failing {
			failing = append(failing, backend.String())
		}
	}
	return failing
}

// someOf lists the first few.
func someOf(all []string) string {
	const few = 5
	if len(all) <= few {
		return strings.Join(all, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(all[:few], ", "), len(all)-few)
}

func muxesOf(r *lease.Report) string {
	served := 0
	for i := range r.Muxes {
		if len(r.Muxes[i].Programmed) > 0 {
			served++
		}
	}
	if served == 1 {
		return "1 mux"
	}
	return strconv.Itoa(served) + " muxes"
}

func seatsOf(g *lease.Gateway) string {
	var seats []string
	for _, id := range g.Report.Holds {
		seats = append(seats, strconv.Itoa(int(id)))
	}
	switch {
	case g.Facts != nil && g.Facts.Capacity == 0:
		return "no seat, because it is being drained"
	case len(seats) == 0:
		return "no seat"
	case len(seats) == 1:
		return "seat " + seats[0]
	}
	return "seats " + strings.Join(seats, ", ")
}
