package webhook

import (
	"testing"
)

func TestPredictionsAreOffByDefault(t *testing.T) {
	type env = map[string]string
	type seen struct {
		predict, strict, hide bool
		kubeconfig            string
	}
	tests := map[string]struct {
		environment env
		args        []string
		want        seen
	}{
		"by default":             {want: seen{hide: true}},
		"a flag without a value": {args: []string{"--predict"}, want: seen{predict: true, hide: true}},
		"environment variables": {environment: env{"PREDICT": "yes", "PREDICT_STRICT": "1", "PREDICT_HIDE_HOLDERS": "On"},
			want: seen{true, true, true, ""}},
		"a flag overrides a variable": {environment: env{"PREDICT": "true"}, args: []string{"--predict=false"},
			want: seen{hide: true}},
		"holders are named": {args: []string{"--predict-hide-holders=false"}, want: seen{}},
		"only a kubeconfig": {environment: env{"KUBECONFIG": "/a"}, want: seen{hide: true, kubeconfig: "/a"}},
		"a kubeconfig by flag": {
			environment: env{"KUBECONFIG": "/a"}, args: []string{"--predict", "--kubeconfig=/b"},
			want: seen{predict: true, hide: true, kubeconfig: "/b"},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			environment := env{"NAMESPACE": "infra"}
			for key, value := range tc.environment {
				environment[key] = value
			}
			options := optionsFrom(t, environment, tc.args...)
			if err := options.Check(); err != nil {
				t.Fatal(err)
			}
			if got := (seen{options.predict(), options.strict(), options.hide(), options.Kubeconfig}); got != tc.want {
				t.Errorf("got %v, want %v", got, tc.want)
			}
		})
	}
}
