package webhook

import (
	"cmp"
	"errors"
	"flag"

	"nowake.ai/svc-lb-mux/validation/flags"
)

// PredictOptions are about what a change will come to. Off, nothing is asked of the API server, and no right is needed.
type PredictOptions struct {
	// Predict reads Services, and warns of what channels and muxes are about to run into.
	Predict flags.Switch
	// Strict denies what those Services prove.
	Strict flags.Switch
	// HideHolders names channels of the sender's own namespace only.
	HideHolders flags.Switch
	// Kubeconfig is the file that says how to reach the API server; empty means from within the cluster.
	Kubeconfig string
}

func defaultPredictOptions(getenv func(string) string) PredictOptions {
	return PredictOptions{
		Predict: flags.Switch(getenv("PREDICT")), Strict: flags.Switch(getenv("PREDICT_STRICT")),
		HideHolders: flags.Switch(cmp.Or(getenv("PREDICT_HIDE_HOLDERS"), "true")), Kubeconfig: getenv("KUBECONFIG"),
	}
}

func (o *PredictOptions) addFlags(set *flag.FlagSet) {
	set.Var(&o.Predict, "predict", "read Services, and warn of what the reconciler would refuse: true or false (PREDICT)")
	set.Var(&o.Strict, "predict-strict", "deny it, where Services alone prove it (PREDICT_STRICT)")
	set.Var(&o.HideHolders, "predict-hide-holders",
		"name channels of the sender's own namespace alone: true, the default, or false (PREDICT_HIDE_HOLDERS)")
	set.StringVar(&o.Kubeconfig, "kubeconfig", o.Kubeconfig,
		"`file` that says how to reach the API server, for --predict (KUBECONFIG); from within the cluster if empty")
}

func (o *PredictOptions) check() error {
	predict, err := o.Predict.On("--predict (PREDICT)")
	strict, strictErr := o.Strict.On("--predict-strict (PREDICT_STRICT)")
	_, hideErr := o.HideHolders.On("--predict-hide-holders (PREDICT_HIDE_HOLDERS)")
	if err == nil && strict && !predict {
		strictErr = errors.New("--predict-strict (PREDICT_STRICT) denies what --predict foresees: set --predict too")
	}
	return errors.Join(err, strictErr, hideErr)
}

func (o *PredictOptions) predict() bool { return o.Predict.Yes() }
func (o *PredictOptions) strict() bool  { return o.Strict.Yes() }
func (o *PredictOptions) hide() bool    { return o.HideHolders.Yes() }
