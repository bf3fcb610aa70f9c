// Package survey is `svcmux survey`: it reads the LoadBalancer Services of a cluster without svc-lb-mux, and proposes
// muxes and channels in their place. It writes nothing to the cluster.
//
//	command.go   flags, and the reading of Services
//	decide.go    which Services could share a load balancer         aspects.go  what makes load balancers differ
//	numbers.go   the number of each port on its mux                 mux.go      the proposed mux
//	print.go     the report
package survey

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubevalidation "k8s.io/apimachinery/pkg/util/validation"

	"nowake.ai/svc-lb-mux/cmd/svcmux/cli"
	"nowake.ai/svc-lb-mux/cmd/svcmux/kube"
	"nowake.ai/svc-lb-mux/cmd/svcmux/manifest"
	"nowake.ai/svc-lb-mux/cmd/svcmux/validate"
	"nowake.ai/svc-lb-mux/validation"
)

type flags struct {
	kube     kube.Flags
	output   manifest.Output
	files    []string
	selector string
	per      string
	prefix   string
	Options
}

// Command returns the command.
func Command(env cli.Env) *cobra.Command {
	var f flags
	cmd := &cobra.Command{
		Use:   "survey",
		Short: "Propose which LoadBalancer Services could share a load balancer",
		Long: `Read the LoadBalancer Services of a cluster, and propose muxes and channels in their place.

Services can share a load balancer if its settings are equal for all of them: class, source ranges, address, session
affinity, IP families, and the annotations that providers read. Each proposed channel is a new Service beside the old
one, with the same pods: both work until the old one is changed. The cluster needn't have svc-lb-mux, and nothing in it
is changed. Without -n, all namespaces are read; or the context's, if you may not read all.`,
		Example: `  {{.}} survey
  {{.}} survey -n shop -o wide
  {{.}} survey --manifests channels/ && {{.}} validate -f channels/
  kubectl get services -A -o yaml | {{.}} survey -f -`,
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd.Context(), env) },
	}
	cmd.Example = strings.ReplaceAll(cmd.Example, "{{.}}", env.Program)
	set := cmd.Flags()
	set.StringArrayVarP(&f.files, "filename", "f", nil,
		"read Services from a file, a directory, or - for standard input, and not from the cluster")
	set.StringVarP(&f.selector, "selector", "l", "", "only Services with these labels")
	set.StringVar(&f.per, "per", "cluster", "cluster or namespace: how far Services may share")
	set.StringVar(&f.MuxName, "mux-name", "shared", "the name of the proposed muxes")
	set.StringVar(&f.MuxNamespace, "mux-namespace", cmp.Or(env.Getenv("DEFAULT_MUX_NAMESPACE"), "svc-mux"),
		"the namespace of the proposed muxes")
	set.StringVar(&f.Provider, "provider", "", "aws, azure, gke or none; default by class, annotations and nodes")
	set.BoolVar(&f.KeepNumbers, "keep-numbers", false, "propose as many muxes as it takes for every number to stay")
	set.StringSliceVar(&f.GiveUp, "give-up", nil, "settings that Services can do without: "+trafficPolicy+", "+
		sessionAffinity+", "+loadBalancerIP+", or keys of annotations")
	set.StringVar(&f.Range, "port-range", "20000-20999", "where ports get new numbers from")
	set.StringVar(&f.prefix, "prefix", cmp.Or(env.Getenv("API_PREFIX"), validation.DefaultPrefix),
		"prefix of annotations and classes")
	f.output.Bind(cmd)
	set.Lookup("output").Usage = "wide, for more columns; json, for the report as data; yaml or name, for the Services " +
		"instead of the report"
	f.kube.Bind(cmd)
	f.kube.BindAll(cmd)
	fixed := func(flag string, values ...string) {
		kube.Complete(cmd, flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
	}
	fixed("per", "cluster", "namespace")
	fixed("provider", "aws", "azure", "gke", "none")
	fixed("give-up", trafficPolicy, sessionAffinity, loadBalancerIP)
	kube.Complete(cmd, "mux-namespace", f.kube.Namespaces())
	return cmd
}

func (f *flags) run(ctx context.Context, env cli.Env) error {
	if err := f.check(); err != nil {
		return err
	}
	services, err := f.services(ctx, env)
	if err != nil {
		return err
	}
	result := Decide(services, f.Options)
	if err := f.write(env, &result); err != nil {
		return err
	}
	return nil
}

// check completes the options, or returns the mistake in them.
func (f *flags) check() error {
	if err := f.output.Check(); err != nil {
		return err
	}
	if f.per != "cluster" && f.per != "namespace" {
		return cli.Usagef("--per %s: use cluster or namespace", cli.Shown(f.per))
	}
	f.PerNamespace = f.per == "namespace"
	for flag, value := range map[string]string{"--mux-name": f.MuxName, "--mux-namespace": f.MuxNamespace} {
		if wrong := kubevalidation.IsDNS1123Label(value); len(wrong) > 0 {
			return cli.Usagef("%s %s: %s", flag, cli.Shown(value), wrong[0])
		}
	}
	var err error
	if f.Lang, err = validation.New(f.prefix, f.MuxNamespace); err != nil {
		return cli.Usagef("--prefix: %w", err)
	}
	if _, found := f.Lang.ParseMux(f.skeleton(&corev1.Service{})); len(found.Problems) > 0 {
		return cli.Usagef("%s", found.Problems[0].Message)
	}
	return nil
}

// services reads the Services, from files or from the cluster.
func (f *flags) services(ctx context.Context, env cli.Env) ([]*corev1.Service, error) {
	if len(f.files) > 0 {
		return f.fromFiles(env)
	}
	cluster, err := f.kube.Cluster(env)
	if err != nil {
		return nil, err
	}
	defer env.Progress("reading Services from " + cluster.Server)()
	services, err := cluster.Services(ctx, f.kube.NamespaceGiven(), f.selector)
	if kube.IsForbidden(err) && f.kube.NamespaceGiven() == "" && !f.kube.All() {
		fmt.Fprintf(env.Err, "You may not read the Services of all namespaces: only namespace %s is read.\n",
			cluster.Namespace)
		services, err = cluster.Services(ctx, cluster.Namespace, f.selector)
	}
	if err != nil {
		return nil, err
	}
	if f.Provider == "" {
		f.Provider = providerOfNodes(ctx, cluster)
	}
	return services, nil
}

func (f *flags) fromFiles(env cli.Env) ([]*corev1.Service, error) {
	if f.selector != "" {
		return nil, cli.Usagef("-l selects in a cluster: leave it out with -f")
	}
	found := validate.Read(f.files, cmp.Or(f.kube.NamespaceGiven(), metav1.NamespaceDefault), env.In)
	for _, sentence := range found.Unreadable {
		fmt.Fprintln(env.Err, sentence)
	}
	if len(found.Unreadable) > 0 && len(found.Services) == 0 {
		return nil, cli.Usagef("no Service could be read")
	}
	return found.Services, nil
}

// providerOfNodes returns the key of the provider that runs the nodes, or "": a tenant may not read nodes.
func providerOfNodes(ctx context.Context, cluster *kube.Cluster) string {
	ctx, cancel := kube.Soon(ctx)
	defer cancel()
	id, err := cluster.ProviderID(ctx)
	if err != nil {
		return ""
	}
	scheme, _, _ := strings.Cut(id, "://")
	switch scheme {
	case "aws", "azure":
		return scheme
	case "gce":
		return "gke"
	}
	return ""
}
