// Package explain is `svcmux explain`: the chain from a client to the pods of a channel, and its first broken link.
//
//	command.go  flags, and the reading        target.go  what an argument names
//	print.go    the chain as text             probe.go   --probe
//	gateways.go backends that gateways can't reach
//	route.go    routes of the Gateway API
package explain

import (
	"bytes"
	"context"
	"net"
	"strings"

	"github.com/spf13/cobra"

	"nowake.ai/svc-lb-mux/cmd/svcmux/cli"
	"nowake.ai/svc-lb-mux/cmd/svcmux/look"
	"nowake.ai/svc-lb-mux/reconciler/console/view"
)

type options struct {
	look.Flags
	probe bool
	dial  func(ctx context.Context, network, address string) (net.Conn, error)
}

// Command returns the command.
func Command(env cli.Env) *cobra.Command {
	o := options{dial: (&net.Dialer{}).DialContext}
	cmd := &cobra.Command{
		Use:   "explain NAMESPACE/NAME | MUX:NUMBER[/PROTOCOL] | KIND/[NAMESPACE/]NAME",
		Short: "Tell how a Service is reached through its mux, or why it isn't",
		Long: `Tell link by link how a Service is reached through its mux: its class, admission, the mux, its numbers, the
ports on the mux, the provider's address, EndpointSlices and ready backends. The first broken link is marked, with the
way out. It is the chain that the console shows on its page "Why not?".

The Service is NAMESPACE/NAME, or a name in the namespace. Or give a number of a mux, such as svc-mux/mux:443. Where you
may not read something, its link is marked with a ?, and the conditions of the channel tell what they can.

Of a route of the Gateway API, tcproute/NAMESPACE/NAME or udproute/NAMESPACE/NAME, it tells the number that it got,
and what the implementations of its Gateways say. A listener of a Gateway that is a mux has the name that ports
prints, such as infra/gateway/edge/web or shop/listenerset/broker/tcp. Of a ListenerSet, listenerset/NAMESPACE/NAME,
it tells each listener.

The exit code is 1 if a link is broken.`,
		Example: `  {{.}} explain shop/web
  {{.}} explain svc-mux/mux:443
  {{.}} explain svc-mux/mux:53/UDP
  {{.}} explain shop/web --probe
  {{.}} explain tcproute/shop/broker-0`,
		Args:              oneArg,
		ValidArgsFunction: o.CompleteChannel,
		RunE:              func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), env, args[0]) },
	}
	cmd.Example = strings.ReplaceAll(cmd.Example, "{{.}}", env.Program)
	cmd.Flags().BoolVar(&o.probe, "probe", false, "open a TCP connection to each number from this machine, and close it")
	o.Bind(cmd, env, "wide", "json", "yaml")
	return cmd
}

func oneArg(cmd *cobra.Command, args []string) error {
	switch len(args) {
	case 0:
		return cli.Usagef("name a Service, as NAMESPACE/NAME, or a number of a mux, as MUX:NUMBER (%s -h has examples)",
			cmd.CommandPath())
	case 1:
		return nil
	}
	return cli.Usagef("unexpected argument %q: explain one at a time", args[1])
}

func (o *options) run(ctx context.Context, env cli.Env, argument string) error {
	if err := o.Check(); err != nil {
		return err
	}
	if kind, key, is := routeNamed(argument); is {
		if err := o.inNamespace(argument, key.Namespace); err != nil {
			return err
		}
		return o.runRoute(ctx, env, kind, key)
	}
	what, err := parse(argument)
	if err != nil {
		return err
	}
	if err := o.inNamespace(argument, what.name.Namespace); err != nil {
		return err
	}
	cluster, ask, err := o.Open(ctx, env)
	if err != nil {
		return err
	}
	what.complete(&ask)
	done := env.Progress("reading from " + cluster.Server)
	world, err := look.Read(ctx, cluster, ask)
	done()
	if err != nil {
		return err
	}
	if what.needs(world) {
		look.Remark(env, world.Remarks)
	}
	chains, err := what.chains(world, o.Kube.NamespaceGiven(), ask.Namespace, ask.Now())
	if err != nil {
		return err
	}
	for i := range chains {
		markUnreached(&chains[i], world.Gateways)
	}
	if o.probe {
		for i := range chains {
			o.try(ctx, &chains[i])
		}
	}
	return o.print(env, chains)
}

// print writes the chains. A broken one makes the command fail.
func (o *options) print(env cli.Env, chains []view.Chain) error {
	var b bytes.Buffer
	code := cli.ExitFine
	for i := range chains {
		if !chains[i].Whole {
			code = cli.ExitFailed
		}
		if o.Output == "json" || o.Output == "yaml" {
			if i > 0 && o.Output == "yaml" {
				b.WriteString("---\n")
			}
			if err := look.Encode(&b, o.Output, &chains[i]); err != nil {
				return err
			}
			continue
		}
		if i > 0 {
			b.WriteByte('\n')
		}
		(&text{to: &b, columns: env.Columns(env.Out), paint: env.Paint(env.Out), wide: o.Wide()}).chain(&chains[i])
	}
	if err := look.Write(env.Out, b.Bytes()); err != nil {
		return err
	}
	return cli.Exit(code)
}
