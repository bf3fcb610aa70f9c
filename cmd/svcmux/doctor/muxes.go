package doctor

import (
	"fmt"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"nowake.ai/svc-lb-mux/cmd/svcmux/cli"
	"nowake.ai/svc-lb-mux/cmd/svcmux/look"
	"nowake.ai/svc-lb-mux/reconciler/console/view"
	"nowake.ai/svc-lb-mux/reconciler/plan"
	"nowake.ai/svc-lb-mux/reconciler/sight"
	"nowake.ai/svc-lb-mux/validation"
)

// knowsIPMode is the first minor version 1.x of Kubernetes in which ipMode is on by default.
const knowsIPMode = 30

// server checks that the API server keeps ipMode.
func (e *examination) server() {
	var version struct{ Major, Minor, GitVersion string }
	if _, err := e.cluster.JSON(e.ctx, "/version", &version); err != nil {
		e.failed("server", "the version of the API server", err)
		return
	}
	minor, err := strconv.Atoi(strings.TrimRight(version.Minor, "+"))
	switch {
	case err != nil:
		e.add("server", Unknown, "the API server's version is "+cli.Shown(version.GitVersion), "see docs/versions.md")
	case version.Major == "1" && minor < knowsIPMode:
		e.add("server", Failure, "Kubernetes "+cli.Shown(version.GitVersion)+" doesn't keep ipMode: a channel can take another's traffic within the cluster", "upgrade to 1.30 or newer")
	default:
		e.add("server", OK, "Kubernetes "+cli.Shown(version.GitVersion)+" keeps ipMode", "")
	}
}

// muxes checks each mux, and its channels.
func (e *examination) muxes() {
	world, err := look.Read(e.ctx, e.cluster, e.ask)
	if err != nil {
		e.failed("muxes", "Services", err)
		return
	}
	index := world.Index()
	if len(index.Muxes()) == 0 {
		e.add("muxes", Warning, "there is neither a mux nor a channel with prefix "+cli.Shown(e.ask.Language.Prefix()), "create one, or choose another prefix with --prefix")
	}
	for _, mux := range index.Muxes() {
		seen, err := index.Sight(mux, e.now)
		if err != nil {
			e.failed("mux", "mux "+cli.Shown(mux.String()), err)
			continue
		}
		e.mux(seen)
		e.backends(seen)
		e.ipMode(seen)
	}
}

func (e *examination) mux(s *sight.Sight) {
	m := view.Of(s)
	name := cli.Shown(m.Namespace + "/" + m.Name)
	used := m.Usage.Held + m.Usage.Foreign
	provider := m.Settings.Provider
	if provider == "" {
		provider = "other"
	}
	limits := fmt.Sprintf("%s, provider %s: %d of %s", name, provider, used, cli.Count(m.Usage.Limit, "port"))
	const tenth = 10
	switch {
	case m.State == "unread":
		e.add("mux", Unknown, name+" can't be read: "+strings.Join(s.Unread.Why(), "; "), "ask for this right")
	case m.State == "frozen" || m.State == "missing":
		e.add("mux", Failure, name+" is "+m.State+": "+cli.Sentence(m.Message), "svcmux status tells more")
	case m.State != "ok":
		e.add("mux", Warning, name+" is "+m.State+": "+cli.Sentence(m.Message), "svcmux status tells more")
	case m.Usage.Limit-used <= m.Usage.Limit/tenth:
		e.add("mux", Warning, limits+" are used", "raise max-ports if the provider allows it, or create another mux")
	case len(m.Pending) > 0:
		e.add("mux", Warning, limits+"; the reconciler hasn't carried out "+cli.Count(len(m.Pending), "write"), "if this lasts, read the reconciler's log")
	default:
		e.add("mux", OK, limits, "")
	}
}

// backends checks the conditions that tell of slices, and counts refused channels.
func (e *examination) backends(s *sight.Sight) {
	count := map[validation.Reason]int{}
	for i := range s.World.Channels {
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
		{plan.FamilyMismatch, Warning, "whose backends have addresses of another family"},
	} {
		if n := count[bad.reason]; n > 0 {
			told++
			e.add("slices", bad.state, fmt.Sprintf("%s has %s %s", name, cli.Count(n, "channel"), bad.words), "svcmux explain NAMESPACE/NAME tells why")
		}
	}
	if told == 0 && s.World.Mux != nil {
		e.add("slices", OK, fmt.Sprintf("%s carries the backends of %s", name, cli.Count(count[plan.HasBackends], "channel")), "")
	}
}

// ipMode checks the addresses of channels: without ipMode Proxy, kube-proxy would take the mux's address for the channel's own.
func (e *examination) ipMode(s *sight.Sight) {
	wrong, all := 0, 0
	for i := range s.World.Channels {
		for _, ingress := range s.World.Channels[i].Address {
			if ingress.IP == "" {
				continue
			}
			if all++; ingress.IPMode == nil || *ingress.IPMode != corev1.LoadBalancerIPModeProxy {
				wrong++
			}
		}
	}
	name := cli.Shown(s.World.Key.String())
	switch {
	case wrong > 0:
		e.add("ipMode", Failure, fmt.Sprintf("ipMode Proxy is missing from %s of channels of %s", cli.Count(wrong, "IP"), name), "see docs/providers.md: the data plane can send one channel's traffic to another")
	case all > 0:
		e.add("ipMode", OK, fmt.Sprintf("%s of channels of %s have ipMode Proxy", cli.Count(all, "IP"), name), "")
	}
}
