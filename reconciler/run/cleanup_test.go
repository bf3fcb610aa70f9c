package run

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// TestFarewellRetriesARefusedDeletion checks a deletion that the API server's policy refuses because it doesn't know
// yet that the namespace is being deleted.
func TestFarewellRetriesARefusedDeletion(t *testing.T) {
	for name, test := range map[string]struct {
		answers []int // the last answer repeats
		tries   int
		refused bool
	}{
		"the first try succeeds": {[]int{http.StatusOK}, 1, false},
		"already deleted":        {[]int{http.StatusNotFound}, 1, false},
		"refused at first":       {[]int{http.StatusForbidden, http.StatusForbidden, http.StatusOK}, 3, false},
		"always refused":         {[]int{http.StatusForbidden}, 2, true},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			tries := 0
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(test.answers[min(tries, len(test.answers)-1)])
				if tries++; test.refused && tries == test.tries {
					cancel()
				}
			}))
			defer server.Close()
			set, err := kubernetes.NewForConfig(&rest.Config{Host: server.URL})
			if err != nil {
				t.Fatal(err)
			}
			err = deleteConfiguration(ctx, set, "svc-mux.svc-mux")
			if tries != test.tries || apierrors.IsForbidden(err) != test.refused || !test.refused && err != nil {
				t.Errorf("after %d tries the error is %v", tries, err)
			}
		})
	}
}
