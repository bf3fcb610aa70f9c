package doctor

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"

	"nowake.ai/svc-lb-mux/cmd/svcmux/cli"
	"nowake.ai/svc-lb-mux/cmd/svcmux/kube"
)

const discovery = "discovery.k8s.io"

// reads are the rights of the webhook for predictions.
func reads() []kube.Right {
	return []kube.Right{{Verb: "list", Resource: "services"}, {Verb: "watch", Resource: "services"}}
}

// needed are rights that the reconciler needs in all namespaces.
func needed() []kube.Right {
	return append(reads(),
		kube.Right{Verb: "list", Group: discovery, Resource: "endpointslices"},
		kube.Right{Verb: "watch", Group: discovery, Resource: "endpointslices"},
		kube.Right{Verb: "patch", Resource: "services", Subresource: "status"},
		kube.Right{Verb: "create", Resource: "events"})
}

// neededOnMuxes are rights that the reconciler needs in the namespaces of muxes.
func neededOnMuxes() []kube.Right {
	return []kube.Right{
		{Verb: "patch", Resource: "services"},
		{Verb: "create", Group: discovery, Resource: "endpointslices"},
		{Verb: "delete", Group: discovery, Resource: "endpointslices"},
		{Verb: "create", Resource: "configmaps"}, {Verb: "patch", Resource: "configmaps"},
	}
}

// excessive are rights that neither part uses. A thief of a pod's token could do harm with them. A reconciler that
// serves Gateways makes their Services.
func excessive(servesGateways bool) []kube.Right {
	rights := []kube.Right{
		{Verb: "list", Resource: "secrets"}, {Verb: "create", Resource: "pods"},
		{Verb: "create", Group: "rbac.authorization.k8s.io", Resource: "clusterrolebindings"},
	}
	if !servesGateways {
		rights = append(rights, kube.Right{Verb: "delete", Resource: "services"},
			kube.Right{Verb: "create", Resource: "services"})
	}
	return rights
}

// rights asks the API server about the rights of both parts.
func (e *examination) rights() {
	for _, d := range e.find(reconciler) {
		e.rightsOf(reconciler, d, needed(), neededOnMuxes(),
			excessive(hasFlag(d, reconciler, "--gateway-api-implementation")))
	}
	for _, d := range e.find(webhook) {
		var wanted []kube.Right
		if flagOf(d, webhook, "--predict") == "true" {
			wanted = reads()
		}
		e.rightsOf(webhook, d, wanted, nil, append(neededOnMuxes(), excessive(false)...))
	}
}

func (e *examination) rightsOf(part string, d *appsv1.Deployment, everywhere, onMuxes, unused []kube.Right) {
	user := "system:serviceaccount:" + d.Namespace + ":" + cmp.Or(d.Spec.Template.Spec.ServiceAccountName, "default")
	missing, err := e.denied(user, everywhere)
	if err == nil {
		var more []string
		more, err = e.deniedOnMuxes(user, onMuxes)
		missing = append(missing, more...)
	}
	var surplus []string
	if err == nil {
		surplus, err = e.allowed(user, unused)
	}
	switch {
	case err != nil:
		e.failed("rights", "the rights of the "+part, err)
	case len(missing) > 0:
		e.add("rights", Failure, cli.Shown(user)+" may not "+strings.Join(missing, ", "),
			"restore the roles with helm upgrade, or see rbac.muxNamespaces in the chart's values")
	case len(surplus) > 0:
		e.add("rights", Warning, cli.Shown(user)+" may "+strings.Join(surplus, ", ")+", and never needs to",
			"find the binding that gives more than the chart's roles")
	default:
		e.add("rights", OK, "the "+part+" has the rights that it needs, and no dangerous ones", "")
	}
}

// denied returns the rights that a user lacks.
func (e *examination) denied(user string, rights []kube.Right) ([]string, error) {
	return e.filter(user, rights, false)
}

// allowed returns the rights that a user has.
func (e *examination) allowed(user string, rights []kube.Right) ([]string, error) {
	return e.filter(user, rights, true)
}

// deniedOnMuxes returns the rights that a user lacks in a namespace of a mux. A right in all namespaces is enough.
func (e *examination) deniedOnMuxes(user string, rights []kube.Right) ([]string, error) {
	var all []string
	for _, right := range rights {
		may, err := e.cluster.May(e.ctx, user, right)
		if err != nil {
			return nil, err
		}
		for _, namespace := range e.muxNamespaces() {
			if may {
				break
			}
			right.Namespace = namespace
			denied, err := e.denied(user, []kube.Right{right})
			if err != nil {
				return nil, err
			}
			all = append(all, denied...)
		}
	}
	return all, nil
}

// muxNamespaces returns the namespaces of muxes, sorted. If no mux exists or can be read, it returns the default mux
// namespace.
func (e *examination) muxNamespaces() []string {
	if e.unreadWorld != nil {
		return []string{e.ask.Language.DefaultMuxNamespace()}
	}
	namespaces := map[string]bool{}
	for _, mux := range e.world.Index().Existing() {
		namespaces[mux.Namespace] = true
	}
	if len(namespaces) == 0 {
		namespaces[e.ask.Language.DefaultMuxNamespace()] = true
	}
	return slices.Sorted(maps.Keys(namespaces))
}

// filter returns the rights that a user has, or those that the user lacks.
func (e *examination) filter(user string, rights []kube.Right, has bool) ([]string, error) {
	var found []string
	for _, right := range rights {
		may, err := e.cluster.May(e.ctx, user, right)
		if err != nil {
			return nil, err
		}
		if may == has {
			found = append(found, right.String())
		}
	}
	return found, nil
}
