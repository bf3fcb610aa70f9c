package validation

import (
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func TestWhatARouteAsksFor(t *testing.T) {
	lang := language(t)
	keys := lang.Keys()
	edge := types.NamespacedName{Namespace: "infra", Name: "edge"}
	auto := Route{Gateway: edge, Request: Request{Kind: Auto}, ListenerSet: "broker"}
	for name, c := range map[string]struct {
		annotations map[string]string
		sets        []string
		want        func(*Route)
		reasons     []Reason
	}{
		"a Gateway alone": {nil, []string{"broker"}, func(*Route) {}, nil},
		"auto":            {map[string]string{keys.ExternalPorts: "auto"}, []string{"broker"}, func(*Route) {}, nil},
		"a number": {map[string]string{keys.ExternalPorts: " 5432 "}, []string{"broker"},
			func(r *Route) { r.Request = Request{Kind: Number, Number: 5432} }, nil},
		"the first ListenerSet": {nil, []string{"broker", "other"}, func(*Route) {}, nil},
		"a number of before": {map[string]string{keys.Ports: "20000"}, []string{"broker"},
			func(r *Route) { r.Recorded = 20000 }, nil},
		"withdrawn": {map[string]string{keys.Disabled: "true"}, []string{"broker"},
			func(r *Route) { r.Disabled = true }, nil},

		"no namespace": {map[string]string{keys.Gateway: "edge"}, []string{"broker"},
			func(r *Route) { r.Gateway = types.NamespacedName{} }, []Reason{InvalidGateway}},
		"an empty name": {map[string]string{keys.Gateway: "infra/"}, []string{"broker"},
			func(r *Route) { r.Gateway = types.NamespacedName{} }, []Reason{InvalidGateway}},
		"no ListenerSet": {nil, nil, func(r *Route) { r.ListenerSet = "" }, []Reason{NoListenerSet}},
		"a port's name": {map[string]string{keys.ExternalPorts: "tcp:5432"}, []string{"broker"}, func(r *Route) {
			r.Request = Request{}
		},
			[]Reason{InvalidPortMapping}},
		"too large a number": {map[string]string{keys.ExternalPorts: "70000"}, []string{"broker"}, func(r *Route) {
			r.Request = Request{}
		},
			[]Reason{InvalidPortMapping}},
		"a range": {map[string]string{keys.ExternalPorts: "100-200"}, []string{"broker"}, func(r *Route) {
			r.Request = Request{}
		},
			[]Reason{InvalidPortMapping}},
		"a range of one number": {map[string]string{keys.ExternalPorts: "100-100"}, []string{"broker"}, func(r *Route) {
			r.Request = Request{}
		},
			[]Reason{InvalidPortMapping}},
		"neither true nor false": {map[string]string{keys.Disabled: "yes"}, []string{"broker"}, func(*Route) {},
			[]Reason{InvalidDisabled}},
	} {
		t.Run(name, func(t *testing.T) {
			annotations := map[string]string{keys.Gateway: "infra/edge"}
			maps.Copy(annotations, c.annotations)
			got, found := lang.ParseRoute(&metav1.ObjectMeta{Annotations: annotations}, c.sets)
			want := auto
			c.want(&want)
			got.Object = Object{}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			var reasons []Reason
			for _, problem := range found.Problems {
				reasons = append(reasons, problem.Reason)
			}
			if diff := cmp.Diff(c.reasons, reasons); diff != "" {
				t.Errorf("reasons (-want +got):\n%s\n%v", diff, found.Problems)
			}
		})
	}
	if !lang.AsksForNumber(&metav1.ObjectMeta{Annotations: map[string]string{keys.Gateway: ""}}) ||
		lang.AsksForNumber(&metav1.ObjectMeta{}) {
		t.Error("a route asks for a number if it has the annotation gateway")
	}
}
