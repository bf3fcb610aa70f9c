package snapshot

import (
	"context"

	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/cmd/svcmux/archive"
	"nowake.ai/svc-lb-mux/cmd/svcmux/cli"
	"nowake.ai/svc-lb-mux/cmd/svcmux/doctor"
	"nowake.ai/svc-lb-mux/cmd/svcmux/kube"
	"nowake.ai/svc-lb-mux/cmd/svcmux/look"
	"nowake.ai/svc-lb-mux/cmd/svcmux/tcpservices"
	"nowake.ai/svc-lb-mux/validation"
)

// gather makes the requests of the other commands, and records the answers. Requests that the API server refuses are
// recorded, too.
func (o *options) gather(ctx context.Context, env cli.Env) (*archive.Archive, validation.Language, error) {
	recorder := archive.NewRecorder()
	o.Kube.Record = recorder.Wrap
	cluster, ask, err := o.Open(ctx, env)
	if err != nil {
		return nil, validation.Language{}, err
	}
	defer env.Progress("reading from " + cluster.Server)()
	ask.Slices = true
	// import reads it by default
	ask.Named = append(ask.Named, types.NamespacedName{Namespace: ask.Language.DefaultMuxNamespace(), Name: "mux"})
	world, err := look.Read(ctx, cluster, ask)
	if err != nil {
		return nil, ask.Language, err
	}
	look.Remark(env, world.Remarks)
	unread, err := readGatewayAPI(ctx, cluster, ask.Namespace)
	if err != nil {
		return nil, ask.Language, err
	}
	look.Remark(env, unread)
	doctor.Examine(ctx, cluster, ask, env.Version)
	if err := others(ctx, cluster); err != nil {
		return nil, ask.Language, err
	}
	taken := recorder.Archive()
	taken.Taken, taken.Release, taken.Namespace = ask.Now().UTC(), env.Version, cluster.Namespace
	trim(taken, world)
	return taken, ask.Language, nil
}

// others makes the requests of survey, import and version.
func others(ctx context.Context, cluster *kube.Cluster) error {
	for _, read := range [...]func() error{
		func() error { _, err := cluster.ProviderID(ctx); return err },
		func() error { _, err := cluster.ConfigMaps(ctx, tcpservices.UsualNamespace); return err },
		func() error { _, err := cluster.Deployments(ctx, cluster.Namespace, kube.ChartSelector); return err },
	} {
		if err := read(); err != nil && !kube.IsForbidden(err) {
			return err
		}
	}
	return nil
}
