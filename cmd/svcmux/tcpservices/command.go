// Package tcpservices is `svcmux import tcp-services`: it turns the ConfigMaps in which ingress-nginx has its TCP and
// UDP services into channels with the same numbers. It writes nothing to the cluster.
//
//	command.go   flags        gather.go  reads ConfigMaps, Services and the mux, from files and the cluster
//	entry.go     the grammar of ingress-nginx
//	rules.go     entries that can't be converted          decide.go  entries in, channels out
//	print.go     the report
package tcpservices

import (
	"cmp"
	"context"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/cmd/svcmux/cli"
	"nowake.ai/svc-lb-mux/cmd/svcmux/kube"
	"nowake.ai/svc-lb-mux/cmd/svcmux/manifest"
	"nowake.ai/svc-lb-mux/validation"
)

type flags struct {
	kube         kube.Flags
	output       manifest.Output
	files        []string
	local        bool
	tcp, udp     string
	mux          string
	muxNamespace string
	prefix       string
	Options
}

// Command returns the command.
func Command(env cli.Env) *cobra.Command {
	var f flags
	cmd := &cobra.Command{
		Use:   "tcp-services",
		Short: "Turn ingress-nginx's tcp-services and udp-services into channels",
		Long: `Turn the ConfigMaps tcp-services and udp-services of ingress-nginx into channels with the same numbers.

Each Service that an entry names gets a channel: a second Service beside it, with the same pods, and with the numbers
of all its entries. The Service itself stays as it is, so ingress-nginx goes on until clients use the mux. Entries that
can't be converted are listed with the way out. ConfigMaps come from -f, or else from the cluster: those named
tcp-services, udp-services, or *-tcp and *-udp of ingress-nginx's chart. Services come from -f and the cluster.`,
		Example: `  {{.}} import tcp-services
  {{.}} import tcp-services -n my-ingress --mux infra/mux -o yaml
  {{.}} import tcp-services -f tcp-services.yaml --manifests channels/`,
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd.Context(), env) },
	}
	cmd.Example = strings.ReplaceAll(cmd.Example, "{{.}}", env.Program)
	set := cmd.Flags()
	set.StringArrayVarP(&f.files, "filename", "f", nil,
		"read ConfigMaps, and Services, from a file, a directory, or - for standard input")
	set.BoolVar(&f.local, "local", false, "with -f, ask no cluster for Services and the mux")
	set.StringVar(&f.tcp, "tcp-services-configmap", "",
		"NAMESPACE/NAME of the ConfigMap for TCP, as in ingress-nginx's own flag")
	set.StringVar(&f.udp, "udp-services-configmap", "", "NAMESPACE/NAME of the ConfigMap for UDP")
	set.StringVar(&f.muxNamespace, "default-mux-namespace", cmp.Or(env.Getenv("DEFAULT_MUX_NAMESPACE"), "svc-mux"),
		"namespace of a mux that is named without one")
	set.StringVar(&f.mux, "mux", "mux", "[NAMESPACE/]NAME of the mux for the channels")
	set.StringVar(&f.Suffix, "suffix", "-mux", "what the name of a channel has after the Service's name")
	set.StringVar(&f.prefix, "prefix", cmp.Or(env.Getenv("API_PREFIX"), validation.DefaultPrefix),
		"prefix of annotations and classes")
	f.output.Bind(cmd)
	f.kube.Bind(cmd)
	f.kube.BindAll(cmd)
	if lang, err := validation.New(validation.DefaultPrefix, "svc-mux"); err == nil {
		kube.Complete(cmd, "mux", f.kube.Muxes(lang))
	}
	return cmd
}

func (f *flags) run(ctx context.Context, env cli.Env) error {
	if err := f.check(); err != nil {
		return err
	}
	world, err := f.gather(ctx, env)
	if err != nil {
		return err
	}
	result := Decide(world, f.Options)
	if err := f.write(env, &result); err != nil {
		return err
	}
	if len(result.Left) > 0 {
		return cli.Exit(cli.ExitFailed)
	}
	return nil
}

// check completes the options, or returns the mistake in them.
func (f *flags) check() error {
	if err := f.output.Check(); err != nil {
		return err
	}
	if f.local && len(f.files) == 0 {
		return cli.Usagef("--local asks no cluster: give files with -f")
	}
	var err error
	if f.Lang, err = validation.New(f.prefix, f.muxNamespace); err != nil {
		return cli.Usagef("%w: set it with --prefix or --default-mux-namespace", err)
	}
	namespace, name, hasBoth := strings.Cut(f.mux, "/")
	if !hasBoth {
		namespace, name = f.muxNamespace, f.mux
	}
	f.Mux = types.NamespacedName{Namespace: namespace, Name: name}
	if parsed, ok := f.Lang.ParseClass(f.Lang.FormatClass(f.Mux)); !ok || parsed != f.Mux {
		return cli.Usagef("--mux %s: write NAMESPACE/NAME, both in small letters, digits and dashes", cli.Shown(f.mux))
	}
	if !strings.HasPrefix(f.Suffix, "-") || strings.Trim(f.Suffix, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" ||
		strings.HasSuffix(f.Suffix, "-") {
		return cli.Usagef("--suffix %s: write a dash, and then small letters and digits, such as -mux", cli.Shown(f.Suffix))
	}
	return nil
}
