// Package kube connects commands to a cluster: kubectl's flags, a client for the few kinds that commands read, the
// client's errors as sentences, and completion from the cluster.
//
// It uses clientcmd as kubectl does, but not cli-runtime's ConfigFlags: these bring client-go's scheme of all kinds,
// whose registration takes longer than all of `svcmux validate`.
package kube

import (
	"maps"
	"net/http"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// Flags are kubectl's flags for the choice of a cluster, a user and a namespace.
type Flags struct {
	// Record is set by the command that takes a snapshot. It sees the answers of the API server, as JSON.
	Record func(http.RoundTripper) http.RoundTripper

	kubeconfig string
	snapshot   string
	overrides  clientcmd.ConfigOverrides
	all        bool
	loader     clientcmd.ClientConfig
}

// Bind adds the flags to a command, with their completion.
func (f *Flags) Bind(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.snapshot, "snapshot", "", "a file of svcmux snapshot to read, in place of a cluster")
	flags.StringVar(&f.kubeconfig, "kubeconfig", "",
		"path of the kubeconfig file; default $KUBECONFIG, else ~/.kube/config")
	names := clientcmd.RecommendedConfigOverrideFlags("")
	names.ClusterOverrideFlags.APIServer.ShortName = "s" // as kubectl's
	clientcmd.BindOverrideFlags(&f.overrides, flags, names)
	flags.VisitAll(func(flag *pflag.Flag) {
		flag.Hidden = isRare(flag.Name)
		if text := usageOf(flag.Name); text != "" {
			flag.Usage = text
		}
	})
	f.completeFlags(cmd)
}

// BindAll adds -A.
func (f *Flags) BindAll(cmd *cobra.Command) {
	cmd.Flags().BoolVarP(&f.all, "all-namespaces", "A", false, "all namespaces")
}

// isRare says that the help doesn't list the flag. kubectl lists it under `kubectl options`.
func isRare(flag string) bool {
	switch flag {
	case "as-uid", "as-user-extra", "certificate-authority", "client-certificate", "client-key", "disable-compression",
		"insecure-skip-tls-verify", "password", "proxy-url", "server", "tls-server-name", "token", "username":
		return true
	}
	return false
}

// usageOf returns a shorter text for a flag than clientcmd has.
func usageOf(flag string) string {
	switch flag {
	case "as":
		return "the user whose rights count, if you may impersonate"
	case "as-group":
		return "a group of that user; may be repeated"
	case "cluster":
		return "a cluster of the kubeconfig"
	case "context":
		return "a context of the kubeconfig; default its current one"
	case "namespace":
		return "one namespace"
	case "request-timeout":
		return "how long to wait for each answer, such as 10s; 0 waits for ever"
	case "user":
		return "a user of the kubeconfig"
	}
	return ""
}

// All says that the user asks for all namespaces.
func (f *Flags) All() bool { return f.all }

// NamespaceGiven returns the namespace of the flag -n, or "".
func (f *Flags) NamespaceGiven() string { return f.overrides.Context.Namespace }

func (f *Flags) config() clientcmd.ClientConfig {
	if f.loader == nil {
		rules := clientcmd.NewDefaultClientConfigLoadingRules()
		rules.ExplicitPath = f.kubeconfig
		rules.WarnIfAllMissing = false
		f.loader = clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &f.overrides)
	}
	return f.loader
}

// FromSnapshot is true if commands read a snapshot.
func (f *Flags) FromSnapshot() bool { return f.snapshot != "" }

// Configured is true if the user has a kubeconfig or a snapshot, or is in a pod. Without a cluster, commands do the
// rest of their work.
func (f *Flags) Configured() bool {
	if f.FromSnapshot() {
		return true
	}
	_, err := f.config().ClientConfig()
	return !clientcmd.IsEmptyConfig(err)
}

// contexts returns the names of all contexts, sorted.
func contexts(raw clientcmdapi.Config) []string { return slices.Sorted(maps.Keys(raw.Contexts)) }
