package guard

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/record"
)

func TestNewFaultsAndTheirEndCauseOneEventEach(t *testing.T) {
	recorder := record.NewFakeRecorder(10)
	teller := newEventEmitter(recorder)
	blank := Fault{NoCABundle, "a", "first"}
	for i, step := range []struct {
		faults []Fault
		want   []string
	}{
		{nil, nil}, // no fault yet
		{[]Fault{blank, {NoCABundle, "a", "of another entry"}}, []string{"Warning NoCABundle first"}},
		{[]Fault{{NoCABundle, "a", "in other words"}}, nil},
		{[]Fault{blank, {NoCABundle, "b", "another"}}, []string{"Warning NoCABundle another"}},
		{[]Fault{blank}, nil},
		{nil, []string{"Normal AdmissionOnGuard API servers reach the webhook and trust its certificate"}},
		{nil, nil},
		{[]Fault{blank}, []string{"Warning NoCABundle first"}},
	} {
		teller.emit(Status{Faults: step.faults}, &corev1.Service{})
		var got []string
		for len(recorder.Events) > 0 {
			got = append(got, <-recorder.Events)
		}
		if diff := cmp.Diff(step.want, got); diff != "" {
			t.Error(fmt.Sprintf("step %d (-want +got):\n", i), diff)
		}
	}
}
