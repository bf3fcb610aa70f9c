package doctor

import (
	"cmp"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"nowake.ai/svc-lb-mux/cmd/svcmux/cli"
	"nowake.ai/svc-lb-mux/reconciler/console/view"
	"nowake.ai/svc-lb-mux/reconciler/numbers/claimants"
	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
	"nowake.ai/svc-lb-mux/reconciler/sight"
	"nowake.ai/svc-lb-mux/validation"
)

// muxes checks each mux, and its channels.
func (e *examination) muxes() {
	if e.unreadWorld != nil {
		e.failed("muxes", "Services", e.unreadWorld)
		return
	}
	index := e.world.Index()
	if len(index.Muxes()) == 0 {
		e.add("muxes", Warning, "the cluster has neither a mux nor a channel with prefix "+cli.Shown(e.ask.Language.Prefix()),
			"create one, or choose another prefix with --prefix")
	}
	for _, mux := range index.Muxes() {
		seen, err := index.Sight(mux, e.now)
		if err != nil {
			e.failed("mux", "mux "+cli.Shown(mux.String()), err)
			continue
		}
		e.mux(seen)
		e.backends(seen)
		e.carried(seen)
		var addresses []corev1.LoadBalancerIngress
		for i := range seen.World.Channels {
			addresses = append(addresses, seen.World.Channels[i].Address...)
		}
		e.ipMode(cli.Shown(mux.String()), addresses)
	}
}

func (e *examination) mux(s *sight.Sight) {
	m := view.Of(s)
	name := cli.Shown(m.Namespace + "/" + m.Name)
	used := m.Usage.Held + m.Usage.Foreign
	provider := cmp.Or(m.Settings.Provider, "other")
	limits := fmt.Sprintf("%s, provider %s: %d of %s", name, provider, used, cli.Count(m.Usage.Limit, "port"))
	const tenth = 10
	switch {
	case m.State == "unread":
		e.add("mux", Unknown, name+" can't be read: "+strings.Join(s.Unread.Why(), "; "), "ask for this right")
	case m.State == "frozen" || m.State == "missing" || m.State == "uncarried":
		e.add("mux", Failure, name+" is "+m.State+": "+cli.Sentence(m.Message), wayOutOf(m.State))
	case m.State != "ok":
		e.add("mux", Warning, name+" is "+m.State+": "+cli.Sentence(m.Message), "svcmux status tells more")
	case s.Carrier != nil && troubled(s.Carrier) != "":
		e.add("mux", Warning, name+": "+cli.Sentence(troubled(s.Carrier)), "the checks of gateways tell more")
	case m.Usage.Limit-used <= m.Usage.Limit/tenth:
		e.add("mux", Warning, limits+" are used", "raise max-ports if the provider allows it, or create another mux")
	case len(m.Pending) > 0:
		e.add("mux", Warning, limits+"; the reconciler hasn't carried out "+cli.Count(len(m.Pending), "write"),
			"if this lasts, read the reconciler's log")
	default:
		e.add("mux", OK, limits, "")
	}
}

// wayOutOf returns what to do about the state of a mux.
func wayOutOf(state string) string {
	switch state {
	case "frozen":
		return `docs/runbook.md, under "A frozen ledger"`
	case "missing":
		return "svcmux status names its channels"
	}
	return "svcmux status tells more"
}

// troubled returns the trouble that the gateways' controller reports; "" if there is none.
func troubled(c *sight.Carrier) string {
	if trouble, is := c.Trouble(); is {
		return trouble.Message
	}
	return ""
}

// backends counts the conditions of channels about slices, and the listeners with backends, which have no such
// condition.
func (e *examination) backends(s *sight.Sight) {
	count := map[validation.Reason]int{}
	for i := range s.World.Channels {
		if channel := &s.World.Channels[i]; !claimants.IsService(channel.Key) && channel.Backends == plan.Backed {
			count[plan.HasBackends]++
		}
		for _, c := range s.World.Channels[i].Conditions {
			if c.Type == s.World.Keys.BackendsReady {
				count[validation.Reason(c.Reason)]++
			}
		}
	}
	name := cli.Shown(s.World.Key.String())
	told := 0
	for _, bad := range [...]struct {
		reason validation.Reason
		state  State
		words  string
	}{
		{plan.BackendsRefused, Failure, "with an EndpointSlice that the API server refuses"},
		{plan.BackendsPending, Warning, "with ready backends that aren't on the mux yet"},
		{plan.TooManyEndpoints, Warning, "with more endpoints than they may have on gateways"},
		{plan.FamilyMismatch, Warning, "whose backends have addresses of another family"},
	} {
		if n := count[bad.reason]; n > 0 {
			told++
			e.add("slices", bad.state, fmt.Sprintf("%s has %s %s", name, cli.Count(n, "channel"), bad.words),
				"svcmux explain NAMESPACE/NAME tells why")
		}
	}
	if told == 0 && s.World.Mux != nil {
		e.add("slices", OK, fmt.Sprintf("%s carries the backends of %s", name, cli.Count(count[plan.HasBackends], "channel")),
			"")
	}
}
