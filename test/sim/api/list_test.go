package api_test

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nowake.ai/svc-lb-mux/test/sim/api"
)

func lists() map[api.Kind]client.ObjectList {
	return map[api.Kind]client.ObjectList{
		api.Services: &corev1.ServiceList{}, api.ConfigMaps: &corev1.ConfigMapList{},
		api.EndpointSlices: &discoveryv1.EndpointSliceList{},
	}
}

// listing holds the options of a list.
type listing struct {
	kind     api.Kind
	place    string // a namespace of the sequence, or "all"
	selector string
	limit    int64
	past     int // which earlier list to repeat at its version; 0 is none
}

func (r *requests) lists() request {
	l := listing{kind: pick(r, api.Services, api.Services, api.ConfigMaps, api.EndpointSlices),
		place: pick(r, "", "-b", "all", "all"),
		selector: pick(r, "", "", "watched=yes", "watched!=yes", "watched in (yes,no)", "!watched",
			"watched,watched notin (no)")}
	if r.IntN(2) == 0 {
		l.past = 1 + r.IntN(1000)
	}
	l.limit = pick[int64](r, 0, 0, 1, 2)
	return request{verb: "list", list: l, what: fmt.Sprintf("list %+v", l)}
}

// askList returns the listed objects in their order.
func (s *side) askList(l listing) answer {
	list := lists()[l.kind]
	options := client.ListOptions{Namespace: s.namespace + l.place, Limit: l.limit}
	selector := l.selector
	if l.place == "all" {
		options.Namespace = ""
		selector = strings.TrimPrefix(selector+",sequence="+s.namespace, ",")
	}
	var err error
	if options.LabelSelector, err = labels.Parse(selector); err != nil {
		s.t.Fatal(err)
	}
	if l.past > 0 && len(s.listed) > 0 {
		options.Raw = &metav1.ListOptions{ResourceVersion: s.listed[l.past%len(s.listed)],
			ResourceVersionMatch: metav1.ResourceVersionMatchExact}
	}
	err = s.List(s.t.Context(), list, &options)
	s.words = fmt.Sprint(err)
	if err != nil {
		return answer{reason: reason(err)}
	}
	if options.Raw != nil && options.Raw.ResourceVersion != list.GetResourceVersion() {
		s.t.Errorf("a list of version %s has version %s", options.Raw.ResourceVersion, list.GetResourceVersion())
	}
	s.listed = append(s.listed, list.GetResourceVersion())
	return answer{object: strings.Join(plainList(s.t, list), "\n")}
}

func plainList(t *testing.T, list client.ObjectList) []string {
	t.Helper()
	items, err := meta.ExtractList(list)
	if err != nil {
		t.Fatal(err)
	}
	all := make([]string, len(items))
	for i := range items {
		all[i] = plain(items[i].(client.Object))
	}
	return all
}
