package doctor

import (
	"cmp"
	"strings"

	"nowake.ai/svc-lb-mux/cmd/svcmux/cli"
	"nowake.ai/svc-lb-mux/cmd/svcmux/kube"
)

const discovery = "discovery.k8s.io"

// needed are rights that a reconciler can't do without.
func needed(muxNamespace string) []kube.Right {
	return []kube.Right{
		{Verb: "list", Resource: "services"}, {Verb: "watch", Resource: "services"},
		{Verb: "list", Group: discovery, Resource: "endpointslices"}, {Verb: "watch", Group: discovery, Resource: "endpointslices"},
		{Verb: "patch", Resource: "services", Subresource: "status"}, {Verb: "create", Resource: "events"},
		{Verb: "patch", Resource: "services", Namespace: muxNamespace},
		{Verb: "create", Group: discovery, Resource: "endpointslices", Namespace: muxNamespace},
		{Verb: "delete", Group: discovery, Resource: "endpointslices", Namespace: muxNamespace},
		{Verb: "create", Resource: "configmaps", Namespace: muxNamespace}, {Verb: "patch", Resource: "configmaps", Namespace: muxNamespace},
	}
}

// excessive are rights that it never uses.
func excessive() []kube.Right {
	return []kube.Right{
		{Verb: "list", Resource: "secrets"}, {Verb: "create", Resource: "pods"}, {Verb: "delete", Resource: "services"},
		{Verb: "create", Resource: "services"}, {Verb: "create", Group: "rbac.authorization.k8s.io", Resource: "clusterrolebindings"},
	}
}

// rights asks the API server about the reconciler's rights.
func (e *examination) rights() {
	for _, d := range e.find(reconciler) {
		user := "system:serviceaccount:" + d.Namespace + ":" + cmp.Or(d.Spec.Template.Spec.ServiceAccountName, "default")
		missing, err := e.which(user, needed(e.ask.Language.DefaultMuxNamespace()), false)
		var more []string
		if err == nil {
			more, err = e.which(user, excessive(), true)
		}
		switch {
		case err != nil:
			e.failed("rights", "the rights of the reconciler", err)
		case len(missing) > 0:
			e.add("rights", Failure, cli.Shown(user)+" may not "+strings.Join(missing, ", "), "restore the roles with helm upgrade, or see rbac.muxNamespaces in the chart's values")
		case len(more) > 0:
			e.add("rights", Warning, cli.Shown(user)+" needn't, but may "+strings.Join(more, ", "), "find the binding that gives it more than the chart's roles")
		default:
			e.add("rights", OK, "the reconciler has the rights that it needs, and none that it never uses", "")
		}
	}
}

// which returns the rights that a user has, or hasn't.
func (e *examination) which(user string, rights []kube.Right, has bool) ([]string, error) {
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
