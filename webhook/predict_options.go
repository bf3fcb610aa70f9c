package webhook

import (
	"cmp"
	"errors"
	"flag"

	"nowake.ai/svc-lb-mux/validation/flags"
)

// PredictOptions are the settings of predictions. With predictions off, the webhook sends no requests to the API
// server, and needs no rights.
type PredictOptions struct {
	// Predict reads Services, and warns of ports that the reconciler will refuse. It denies forbidden names for
	// external-dns.
	Predict flags.Switch
	// Strict denies a change if the Services alone prove that the reconciler will refuse it.
	Strict flags.Switch
	// HideHolders leaves out the names of channels in other namespaces than the reviewed object's.
	HideHolders flags.Switch
	// Routes reads the Gateway API's objects too, and predicts the same for routes that ask for a number.
	Routes bool
	// Kubeconfig is the file with the connection to the API server. If it is empty, the pod's service account is used.
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
	set.Var(&o.Strict, "predict-strict", "deny a change instead, if the Services alone prove that it will be refused: "+
		"true or false (PREDICT_STRICT)")
	set.Var(&o.HideHolders, "predict-hide-holders",
		"name only channels of the sender's own namespace: true, the default, or false (PREDICT_HIDE_HOLDERS)")
	set.BoolVar(&o.Routes, "gateway-api-allocator", false,
		"with --predict, read the Gateway API's objects too, and warn of what routes that ask for a number won't get")
	set.StringVar(&o.Kubeconfig, "kubeconfig", o.Kubeconfig,
		"`file` with the connection to the API server, for --predict (KUBECONFIG); "+
			"if empty, the pod's service account is used")
}

func (o *PredictOptions) check() error {
	predict, err := o.Predict.On("--predict (PREDICT)")
	strict, strictErr := o.Strict.On("--predict-strict (PREDICT_STRICT)")
	_, hideErr := o.HideHolders.On("--predict-hide-holders (PREDICT_HIDE_HOLDERS)")
	if err == nil && strict && !predict {
		strictErr = errors.New("--predict-strict (PREDICT_STRICT) has no effect alone: set --predict too")
	}
	return errors.Join(err, strictErr, hideErr)
}

func (o *PredictOptions) predict() bool { return o.Predict.Yes() }
func (o *PredictOptions) strict() bool  { return o.Strict.Yes() }
func (o *PredictOptions) routes() bool  { return o.Routes }
func (o *PredictOptions) hide() bool    { return o.HideHolders.Yes() }
