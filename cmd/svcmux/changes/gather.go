package changes

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"nowake.ai/svc-lb-mux/cmd/svcmux/cli"
	"nowake.ai/svc-lb-mux/cmd/svcmux/kube"
	"nowake.ai/svc-lb-mux/cmd/svcmux/look"
	"nowake.ai/svc-lb-mux/cmd/svcmux/validate"
)

// predict reads the files and the cluster, and predicts.
func (o *options) predict(ctx context.Context, env cli.Env) (*Report, error) {
	if err := o.Check(); err != nil {
		return nil, err
	}
	if len(o.files) == 0 {
		return nil, fmt.Errorf("name the files: -f FILE, -f DIR, or -f - (%s plan -h lists the flags)", env.Program)
	}
	cluster, ask, err := o.Open(ctx, env)
	if err != nil {
		return nil, err
	}
	files, err := o.read(env, ask.Namespace)
	if err != nil {
		return nil, err
	}
	for _, manifest := range files.Services {
		ask.Named = append(ask.Named, keyOf(manifest))
		if mux := muxOf(ask.Language, manifest); mux.Name != "" {
			ask.Named = append(ask.Named, mux)
		}
	}
	done := env.Progress("reading from " + cluster.Server)
	defer done()
	world, err := look.Read(ctx, cluster, ask)
	if err != nil {
		return nil, err
	}
	look.Remark(env, world.Remarks)
	if err := readLedgers(ctx, cluster, world, files.Services); err != nil {
		return nil, err
	}
	return Predict(world, files, ask.Now())
}

// read reads the Services in the files. An unreadable file is an error: a part of the files would lead to another
// prediction.
func (o *options) read(env cli.Env, namespace string) (validate.Objects, error) {
	found := validate.Read(o.files, namespace, env.In)
	look.Remark(env, found.Unreadable)
	switch {
	case found.Incomplete:
		return found, errors.New("not all files could be read, so there is no prediction: " +
			"correct them, or name others with -f")
	case len(found.Services) == 0:
		return found, errors.New("the files have no Service: name files with muxes and channels with -f")
	}
	return found, nil
}

// readLedgers reads the ledgers of muxes that the files create or give another ledger.
func readLedgers(ctx context.Context, cluster *kube.Cluster, world *look.World, manifests []*corev1.Service) error {
	for _, manifest := range manifests {
		if world.Language.Classify(manifest).Mux() {
			if err := world.ReadLedger(ctx, cluster, manifest); err != nil {
				return err
			}
		}
	}
	return nil
}
