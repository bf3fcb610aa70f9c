package kube

import (
	"context"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"nowake.ai/svc-lb-mux/cmd/svcmux/cli"
	"nowake.ai/svc-lb-mux/validation"
)

// completeFlags completes the flags' values from the kubeconfig and the cluster.
func (f *Flags) completeFlags(cmd *cobra.Command) {
	fromKubeconfig := func(names func(clientcmdapi.Config) []string) cobra.CompletionFunc {
		return func(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
			raw, err := f.config().RawConfig()
			if err != nil {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return beginning(names(raw), typed), cobra.ShellCompDirectiveNoFileComp
		}
	}
	Complete(cmd, "context", fromKubeconfig(contexts))
	Complete(cmd, "cluster",
		fromKubeconfig(func(raw clientcmdapi.Config) []string { return slices.Sorted(maps.Keys(raw.Clusters)) }))
	Complete(cmd, "user",
		fromKubeconfig(func(raw clientcmdapi.Config) []string { return slices.Sorted(maps.Keys(raw.AuthInfos)) }))
	Complete(cmd, "namespace", f.Namespaces())
	Complete(cmd, "snapshot", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return nil, cobra.ShellCompDirectiveDefault // files
	})
}

// Complete registers the completion of a flag that the command has.
func Complete(cmd *cobra.Command, flag string, with cobra.CompletionFunc) {
	if err := cmd.RegisterFlagCompletionFunc(flag, with); err != nil {
		panic(err) // the flag has another name in the code
	}
}

// Namespaces completes the name of a namespace.
func (f *Flags) Namespaces() cobra.CompletionFunc {
	return f.fromCluster(func(ctx context.Context, c *Cluster) ([]string, error) { return c.Namespaces(ctx) })
}

// Muxes completes namespace/name of a mux.
func (f *Flags) Muxes(lang validation.Language) cobra.CompletionFunc {
	return f.services(func(kind validation.Kind) bool { return kind.Mux() }, lang)
}

// Channels completes namespace/name of a channel.
func (f *Flags) Channels(lang validation.Language) cobra.CompletionFunc {
	return f.services(func(kind validation.Kind) bool { return kind.Channel() }, lang)
}

// services completes Services of a kind. It reads all namespaces, or one if the user may not.
func (f *Flags) services(wanted func(validation.Kind) bool, lang validation.Language) cobra.CompletionFunc {
	return f.fromCluster(func(ctx context.Context, c *Cluster) ([]string, error) {
		services, err := c.Services(ctx, f.NamespaceGiven(), "")
		if IsForbidden(err) {
			services, err = c.Services(ctx, c.Namespace, "")
		}
		var names []string
		for _, svc := range services {
			if wanted(lang.Classify(svc)) {
				names = append(names, svc.Namespace+"/"+svc.Name)
			}
		}
		return names, err
	})
}

// fromCluster asks the cluster. Without an answer there is no completion: a message would destroy the prompt.
func (f *Flags) fromCluster(names func(context.Context, *Cluster) ([]string, error)) cobra.CompletionFunc {
	return func(cmd *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		const nothing = cobra.ShellCompDirectiveNoFileComp
		ctx, cancel := Soon(cmd.Context())
		defer cancel()
		c, err := f.Cluster(cli.Env{Err: io.Discard})
		if err != nil {
			return nil, nothing
		}
		all, err := names(ctx, c)
		if err != nil {
			return nil, nothing
		}
		slices.Sort(all)
		return beginning(all, typed), nothing
	}
}

func beginning(names []string, typed string) []string {
	return slices.DeleteFunc(names, func(name string) bool { return !strings.HasPrefix(name, typed) })
}
