package look

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"

	"nowake.ai/svc-lb-mux/cmd/svcmux/cli"
	"nowake.ai/svc-lb-mux/cmd/svcmux/kube"
	"nowake.ai/svc-lb-mux/validation"
	"nowake.ai/svc-lb-mux/validation/flags"
)

// settings are those of a release that commands must know. externalDNS are the prefixes of external-dns's annotations,
// separated by commas.
type settings struct{ prefix, muxNamespace, externalDNS string }

// noReconciler is the remark about half an installation.
const noReconciler = "No Deployment of the reconciler was found: nobody carries changes out. svcmux version tells " +
	"what is installed."

// language finds the settings: those of the flags, else those of the reconciler in the cluster, else the defaults. A
// tenant may not read Deployments, and gets the defaults. It returns remarks, too.
func (f *Flags) language(ctx context.Context, cluster *kube.Cluster) (validation.Language, []string, error) {
	wanted := settings{prefix: f.Prefix, muxNamespace: f.MuxNamespace}
	var remarks []string
	deployments, err := cluster.Deployments(ctx, "", kube.ChartSelector)
	switch found := settingsOf(deployments); {
	case kube.IsForbidden(err):
	case err != nil:
		return validation.Language{}, nil, err
	case len(found) == 0:
		remarks = append(remarks, noReconciler)
	default:
		chosen := choose(found, wanted.prefix)
		if chosen == (settings{}) {
			remarks = append(remarks, textNobody(wanted.prefix, found))
		}
		wanted = settings{cmp.Or(wanted.prefix, chosen.prefix), cmp.Or(wanted.muxNamespace, chosen.muxNamespace),
			chosen.externalDNS}
		if f.Prefix == "" && slices.ContainsFunc(found, func(s settings) bool { return s.prefix != wanted.prefix }) {
			remarks = append(remarks, fmt.Sprintf("There are reconcilers of several prefixes: %s is shown. Choose another one "+
				"with --prefix.", cli.Shown(wanted.prefix)))
		}
	}
	language, err := languageOf(wanted)
	return language, remarks, err
}

// languageOf returns the language of settings; "" is for a default.
func languageOf(s settings) (validation.Language, error) {
	language, err := flags.Language(cmp.Or(s.prefix, validation.DefaultPrefix), cmp.Or(s.muxNamespace, "svc-mux"),
		s.externalDNS)
	if err != nil {
		return language, cli.Usagef("%w: set it with --prefix or --default-mux-namespace", err)
	}
	return language, nil
}

// choose returns the settings with a prefix; if no reconciler has it, no settings. Without a prefix, it returns those
// with the default prefix, or else the first ones.
func choose(found []settings, prefix string) settings {
	if i := slices.IndexFunc(found,
		func(s settings) bool { return s.prefix == cmp.Or(prefix, validation.DefaultPrefix) }); i >= 0 {
		return found[i]
	}
	if prefix != "" {
		return settings{}
	}
	return found[0]
}

// textNobody is the remark about a prefix that no reconciler has.
func textNobody(prefix string, found []settings) string {
	var others []string
	for _, s := range found {
		others = append(others, cli.Shown(s.prefix))
	}
	slices.Sort(others)
	return fmt.Sprintf("No reconciler of prefix %s was found: nobody carries its changes out, and defaults replace its "+
		"settings. There are reconcilers of %s.",
		cli.Shown(prefix), strings.Join(slices.Compact(others), ", "))
}

// settingsOf returns the settings of all reconcilers, as the chart passes them.
func settingsOf(deployments []*appsv1.Deployment) []settings {
	var found []settings
	for _, d := range deployments {
		for _, container := range d.Spec.Template.Spec.Containers {
			if container.Name != "reconciler" {
				continue
			}
			s := settings{prefix: validation.DefaultPrefix, muxNamespace: d.Namespace}
			for _, variable := range container.Env {
				s.set(variable.Name, variable.Value)
			}
			for _, arg := range container.Args {
				name, value, _ := strings.Cut(arg, "=")
				s.set(name, value)
			}
			found = append(found, s)
		}
	}
	return found
}

// set takes a flag or a variable of the reconciler. Flags come last, as they count more. Wrong prefixes of external-dns
// don't count: with them, a reconciler doesn't start.
func (s *settings) set(name, value string) {
	switch {
	case value == "":
	case name == "--api-prefix" || name == "API_PREFIX":
		s.prefix = value
	case name == "--default-mux-namespace" || name == "DEFAULT_MUX_NAMESPACE":
		s.muxNamespace = value
	case (name == "--external-dns-prefixes" || name == "EXTERNAL_DNS_PREFIXES") && flags.ExternalDNS(name, value) == nil:
		// else they are wrong
		s.externalDNS = value
	}
}
