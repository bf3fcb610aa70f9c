package kube

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"nowake.ai/svc-lb-mux/cmd/svcmux/archive"
	"nowake.ai/svc-lb-mux/cmd/svcmux/cli"
	"nowake.ai/svc-lb-mux/validation"
)

// Cluster connects to the cluster or the snapshot that the flags choose. Nothing is sent yet.
func (f *Flags) Cluster(env cli.Env) (*Cluster, error) {
	if f.FromSnapshot() {
		return f.openSnapshot(env)
	}
	raw, err := f.config().RawConfig()
	if err != nil {
		return nil, fmt.Errorf("the kubeconfig can't be read: %w: name another one with --kubeconfig or KUBECONFIG", err)
	}
	wanted := f.overrides.CurrentContext
	if _, known := raw.Contexts[wanted]; wanted != "" && !known {
		return nil, cli.Usagef("--context %s: the kubeconfig has no such context%s", cli.Shown(wanted),
			alternatives(wanted, contexts(raw)))
	}
	config, err := f.config().ClientConfig()
	if clientcmd.IsEmptyConfig(err) {
		return nil, cli.Usagef("no cluster is configured: name a kubeconfig with --kubeconfig or KUBECONFIG")
	}
	if err != nil {
		return nil, fmt.Errorf("the kubeconfig can't be used: %w: choose a context with --context, or correct the file", err)
	}
	namespace, _, err := f.config().Namespace()
	if err != nil {
		return nil, fmt.Errorf("the kubeconfig can't be used: %w: choose a namespace with -n", err)
	}
	context := wanted
	if context == "" {
		context = raw.CurrentContext
	}
	if f.Record != nil {
		config.Wrap(f.Record)
		config.AcceptContentTypes = runtime.ContentTypeJSON
	}
	return connect(config, context, namespace, env.Err)
}

// openSnapshot returns a snapshot as a cluster.
func (f *Flags) openSnapshot(env cli.Env) (*Cluster, error) {
	taken, err := archive.Open(f.snapshot)
	if err != nil {
		return nil, err
	}
	config := &rest.Config{Host: "http://snapshot", Transport: taken}
	config.AcceptContentTypes = runtime.ContentTypeJSON
	if f.Record != nil {
		config.Wrap(f.Record)
	}
	cluster, err := connect(config, "", cmp.Or(f.NamespaceGiven(), taken.Namespace), env.Err)
	if err != nil {
		return nil, err
	}
	cluster.Server, cluster.Taken = f.snapshot, taken.Taken
	return cluster, nil
}

// alternatives names the context that was probably meant, or all contexts if they are few.
func alternatives(wanted string, known []string) string {
	if near := validation.Nearest(wanted, known); near != "" {
		return ": did you mean " + cli.Shown(near) + "?"
	}
	const few = 8
	switch {
	case len(known) == 0:
		return ", and no other: name another file with --kubeconfig or KUBECONFIG"
	case len(known) > few:
		return ": kubectl config get-contexts lists them"
	}
	return ": choose one of " + strings.Join(known, ", ")
}

// warnings prints the API server's warnings, as kubectl does.
type warnings struct{ to io.Writer }

func (w warnings) HandleWarningHeader(code int, _, text string) {
	const miscellaneous = 299 // the only code that Kubernetes uses
	if code == miscellaneous && text != "" {
		fmt.Fprintf(w.to, "Warning: %s\n", cli.Sentence(text))
	}
}
