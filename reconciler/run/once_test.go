package run

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

// follower is a manager that never gets the lease.
type follower struct{ manager.Manager }

func (follower) Elected() <-chan struct{} { return nil }

// deaf is an API server that can't be reached.
type deaf struct{}

func (deaf) RoundTrip(*http.Request) (*http.Response, error) { return nil, errors.New("unreachable") }

func TestWaitForTheLeaseEndsWithPatience(t *testing.T) {
	for name, patience := range map[string]time.Duration{"a minute": time.Minute,
		"less than the hint twice": 4 * time.Second, "a second": time.Second} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				set, err := kubernetes.NewForConfigAndClient(&rest.Config{}, &http.Client{Transport: deaf{}})
				if err != nil {
					t.Fatal(err)
				}
				var logs bytes.Buffer
				ctx, end := context.WithCancelCause(t.Context())
				began := time.Now()
				p := Process{Options: Options{Namespace: "infra", LeaseName: "mux"}, Logs: &logs}
				p.Options.Patience = patience
				p.awaitLease(ctx, &processManager{Manager: follower{}, set: set}, end)
				if waited := time.Since(began); waited != patience {
					t.Errorf("it waits for %s, want %s", waited, patience)
				}
				if count := strings.Count(logs.String(), "waiting for the lease infra/mux"); count != 1 {
					t.Errorf("%d hints: %s", count, logs.String())
				}
				if cause := context.Cause(ctx); cause == nil ||
					!strings.Contains(cause.Error(), "given up after "+patience.String()) {
					t.Errorf("it ends with %v", cause)
				}
			})
		})
	}
}
