package look

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/cmd/svcmux/cli"
	"nowake.ai/svc-lb-mux/cmd/svcmux/kube"
	"nowake.ai/svc-lb-mux/validation"
)

// Flags are those that all commands about muxes have.
type Flags struct {
	Kube         kube.Flags
	Prefix       string
	MuxNamespace string
	Output       string
	Selector     string
	Watch        bool

	formats []string
}

// Bind adds the flags to a command, with the formats of -o that it has.
func (f *Flags) Bind(cmd *cobra.Command, env cli.Env, formats ...string) {
	f.formats = formats
	set := cmd.Flags()
	set.StringVar(&f.Prefix, "prefix", env.Getenv("API_PREFIX"),
		"prefix of annotations and classes; default that of the cluster")
	set.StringVar(&f.MuxNamespace, "default-mux-namespace", env.Getenv("DEFAULT_MUX_NAMESPACE"),
		"namespace of a mux that is named without one; default that of the cluster")
	if len(formats) > 0 {
		set.StringVarP(&f.Output, "output", "o", "", strings.Join(formats, ", ")+"; default a table")
		kube.Complete(cmd, "output", cobra.FixedCompletions(formats, cobra.ShellCompDirectiveNoFileComp))
	}
	f.Kube.Bind(cmd)
}

// BindSelector adds -A and -l for commands that show several muxes.
func (f *Flags) BindSelector(cmd *cobra.Command) {
	f.Kube.BindAll(cmd)
	cmd.Flags().StringVarP(&f.Selector, "selector", "l", "", "only muxes with these labels")
}

// BindMany adds -A, -l and -w for commands that list.
func (f *Flags) BindMany(cmd *cobra.Command) {
	f.BindSelector(cmd)
	cmd.Flags().BoolVarP(&f.Watch, "watch", "w", false, "go on, and print lines that change")
}

// Wide says that the user wants more columns.
func (f *Flags) Wide() bool { return f.Output == "wide" }

// Check returns the mistake in the flags.
func (f *Flags) Check() error {
	if f.Output != "" && !slices.Contains(f.formats, f.Output) {
		return cli.Usagef("-o %s: use %s", cli.Shown(f.Output), strings.Join(f.formats, ", "))
	}
	if f.Watch && f.Kube.FromSnapshot() {
		return cli.Usagef("-w: a snapshot doesn't change: leave out -w or --snapshot")
	}
	if _, err := labels.Parse(f.Selector); err != nil {
		return cli.Usagef("-l %s: %w", cli.Shown(f.Selector), err)
	}
	_, err := languageOf(settings{prefix: f.Prefix, muxNamespace: f.MuxNamespace})
	return err
}

// CompleteMux completes the argument MUX, with the prefix of the flags.
func (f *Flags) CompleteMux(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return f.completing(cmd, typed, f.Kube.Muxes)
}

// CompleteChannel completes namespace/name of a channel.
func (f *Flags) CompleteChannel(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return f.completing(cmd, typed, f.Kube.Channels)
}

func (f *Flags) completing(cmd *cobra.Command, typed string,
	with func(validation.Language) cobra.CompletionFunc) ([]string, cobra.ShellCompDirective) {
	ctx, cancel := kube.Soon(cmd.Context())
	defer cancel()
	cluster, err := f.Kube.Cluster(cli.Env{Err: io.Discard})
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	language, _, err := f.language(ctx, cluster)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return with(language)(cmd, nil, typed)
}

// Open connects, finds the settings, and returns what to ask of the cluster. It prints remarks about the installation.
func (f *Flags) Open(ctx context.Context, env cli.Env) (*kube.Cluster, Ask, error) {
	cluster, err := f.Kube.Cluster(env)
	if err != nil {
		return nil, Ask{}, err
	}
	language, remarks, err := f.language(ctx, cluster)
	if err != nil {
		return nil, Ask{}, err
	}
	Remark(env, remarks)
	now := env.Time
	if !cluster.Taken.IsZero() {
		now = func() time.Time { return cluster.Taken }
	}
	return cluster, Ask{Language: language, All: f.Kube.All(),
		Namespace: cmp.Or(f.Kube.NamespaceGiven(), cluster.Namespace), Now: now}, nil
}

// Remark prints remarks on standard error.
func Remark(env cli.Env, remarks []string) {
	for _, remark := range remarks {
		fmt.Fprintln(env.Err, remark)
	}
}

// Name parses an argument NAME or NAMESPACE/NAME.
func Name(text string) (types.NamespacedName, error) {
	namespace, name, both := strings.Cut(text, "/")
	if !both {
		namespace, name = "", text
	}
	if name == "" || both && namespace == "" || strings.Contains(name, "/") {
		return types.NamespacedName{}, cli.Usagef("%s: write NAME or NAMESPACE/NAME", cli.Shown(text))
	}
	return types.NamespacedName{Namespace: namespace, Name: name}, nil
}
