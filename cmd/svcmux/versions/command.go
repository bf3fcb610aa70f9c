package versions

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"
	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/yaml"

	"nowake.ai/svc-lb-mux/cmd/svcmux/cli"
	"nowake.ai/svc-lb-mux/cmd/svcmux/kube"
)

type options struct {
	kube   kube.Flags
	client bool
	output string
}

// report is the output of -o json.
type report struct {
	Client string   `json:"client"`
	Parts  []part   `json:"parts"`
	Skew   []string `json:"skew"`
}

// Command returns the command.
func Command(env cli.Env) *cobra.Command {
	var opts options
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the release of this program, and of webhook and reconciler in the cluster",
		Long: `Print the release of this program, and the releases of webhook and reconciler in the cluster.

Webhook, reconciler and svcmux are released together. If releases differ, the output says so. Without a kubeconfig, or
with --client, only the release of this program is printed.`,
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return run(cmd.Context(), env, &opts) },
	}
	cmd.Flags().BoolVar(&opts.client, "client", false, "only this program's release, without a cluster")
	cmd.Flags().StringVarP(&opts.output, "output", "o", "", "json or yaml; default text")
	kube.Complete(cmd, "output", cobra.FixedCompletions([]string{"json", "yaml"}, cobra.ShellCompDirectiveNoFileComp))
	opts.kube.Bind(cmd)
	return cmd
}

func run(ctx context.Context, env cli.Env, opts *options) error {
	if opts.output != "" && opts.output != "json" && opts.output != "yaml" {
		return cli.Usagef("-o %s: use json or yaml", cli.Shown(opts.output))
	}
	rep := report{Client: env.Version, Parts: []part{}, Skew: []string{}}
	var failed error
	if !opts.client && opts.kube.Configured() {
		var deployments []*appsv1.Deployment
		if deployments, failed = find(ctx, env, opts); failed == nil {
			rep.Parts = partsOf(deployments)
			rep.Skew = append(rep.Skew, skews(rep.Client, rep.Parts)...)
		}
	}
	if err := print(env, opts.output, rep); err != nil {
		return err
	}
	if kube.IsForbidden(failed) { // a tenant gets an answer, too
		fmt.Fprintf(env.Err, "The releases in the cluster can't be read: %s\n", cli.Sentence(failed.Error()))
		return nil
	}
	return failed
}

// find reads the chart's Deployments: of all namespaces, or of one if the user may not.
func find(ctx context.Context, env cli.Env, opts *options) ([]*appsv1.Deployment, error) {
	cluster, err := opts.kube.Cluster(env)
	if err != nil {
		return nil, err
	}
	defer env.Progress("asking " + cluster.Server)()
	all, err := cluster.Deployments(ctx, opts.kube.NamespaceGiven(), kube.ChartSelector)
	if kube.IsForbidden(err) && opts.kube.NamespaceGiven() == "" {
		if here, second := cluster.Deployments(ctx, cluster.Namespace, kube.ChartSelector); second == nil && len(here) > 0 {
			return here, nil
		}
	}
	return all, err
}

func print(env cli.Env, format string, rep report) error {
	switch format {
	case "json":
		encoder := json.NewEncoder(env.Out)
		encoder.SetIndent("", "  ")
		return encoder.Encode(rep)
	case "yaml":
		data, err := yaml.Marshal(rep)
		if err == nil {
			_, err = env.Out.Write(data)
		}
		return err
	}
	fmt.Fprintln(env.Out, "svcmux", rep.Client)
	for _, p := range rep.Parts {
		fmt.Fprintf(env.Out, "%s %s, in %s\n", p.Name, cli.Shown(p.Version), cli.Shown(p.Namespace+"/"+p.Deployment))
	}
	for _, sentence := range rep.Skew {
		fmt.Fprintln(env.Out, env.Paint(env.Out).Yellow("skew: ")+sentence)
	}
	return nil
}
