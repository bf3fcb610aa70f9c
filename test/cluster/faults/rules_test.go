package faults

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
)

const patchPath = "PATCH /api/v1/namespaces/a/services/web/status"

func patchStatus(ctx context.Context, client *kubernetes.Clientset) error {
	_, err := client.CoreV1().Services("a").Patch(
		ctx, "web", types.MergePatchType, []byte(`{"status":{}}`), metav1.PatchOptions{}, "status")
	return err
}

func get(ctx context.Context, client *kubernetes.Clientset) error {
	_, err := client.CoreV1().Services("a").Get(ctx, "web", metav1.GetOptions{})
	return err
}

func create(ctx context.Context, client *kubernetes.Clientset) error {
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "web"}}
	_, err := client.CoreV1().Services("a").Create(ctx, service, metav1.CreateOptions{})
	return err
}

func isNil(err error) bool { return err == nil }

// isDropped distinguishes a lost connection from an answer.
func isDropped(err error) bool {
	var lost *url.Error
	return errors.As(err, &lost)
}

func TestActionsOfRules(t *testing.T) {
	const millisecond = time.Millisecond
	for name, test := range map[string]struct {
		do      Action
		request func(context.Context, *kubernetes.Clientset) error
		want    func(error) bool
		made    int
		atLeast time.Duration
	}{
		"no action passes the request on": {request: patchStatus, want: isNil, made: 1},
		"Delay delays the request": {do: Delay(50 * millisecond), request: patchStatus, want: isNil, made: 1,
			atLeast: 50 * millisecond},
		"DelayAfter delays the answer": {do: DelayAfter(50 * millisecond), request: patchStatus, want: isNil,
			made: 1, atLeast: 50 * millisecond},
		"Drop doesn't make the request":          {do: Drop(), request: patchStatus, want: isDropped},
		"DropAfter makes it without an answer":   {do: DropAfter(), request: patchStatus, want: isDropped, made: 1},
		"Answer(409) is a conflict":              {do: Answer(409), request: patchStatus, want: apierrors.IsConflict},
		"Answer(409) on create is AlreadyExists": {do: Answer(409), request: create, want: apierrors.IsAlreadyExists},
		"Answer(410) is expired":                 {do: Answer(410), request: get, want: apierrors.IsResourceExpired},
		"Answer(500) is an internal error":       {do: Answer(500), request: patchStatus, want: apierrors.IsInternalError},
		"Answer(503) is unavailable": {do: Answer(503), request: patchStatus,
			want: apierrors.IsServiceUnavailable},
		"Answer(403) is forbidden":  {do: Answer(403), request: patchStatus, want: apierrors.IsForbidden},
		"Answer(404) is not found":  {do: Answer(404), request: get, want: apierrors.IsNotFound},
		"Answer(504) is a time-out": {do: Answer(504), request: patchStatus, want: apierrors.IsTimeout},
		"Answer(429) is too many requests": {do: Answer(429, RetryAfter(0)), request: patchStatus,
			want: apierrors.IsTooManyRequests},
		"AnswerAfter(409) makes the request": {do: AnswerAfter(409), request: patchStatus, want: apierrors.IsConflict,
			made: 1},
		"AnswerAfter(500) makes the request": {do: AnswerAfter(500), request: patchStatus,
			want: apierrors.IsInternalError, made: 1},
		"a chain runs its actions in order": {do: Chain(Delay(50*millisecond), Answer(409)), request: patchStatus,
			want: apierrors.IsConflict, atLeast: 50 * millisecond},
		"an empty chain passes the request on": {do: Chain(), request: patchStatus, want: isNil, made: 1},
	} {
		t.Run(name, func(t *testing.T) {
			server, proxy, client := startAll(t)
			rule := proxy.Add(Rule{Name: "the rule", Do: test.do})
			start := time.Now()
			err := test.request(t.Context(), client)
			if !test.want(err) {
				t.Errorf("the client got %v", err)
			}
			if took := time.Since(start); took < test.atLeast {
				t.Errorf("took %s, want %s or more", took, test.atLeast)
			}
			if made := len(server.requests()); made != test.made {
				t.Errorf("made %d times, want %d", made, test.made)
			}
			if rule.Hits() != 1 {
				t.Errorf("%d hits, want 1", rule.Hits())
			}
		})
	}
}

func TestClientRetriesAfterA429(t *testing.T) {
	server, proxy, client := startAll(t)
	rule := proxy.Add(Rule{Times: 1, Do: Answer(429)})
	start := time.Now()
	if err := patchStatus(t.Context(), client); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(start); took < time.Second {
		t.Errorf("the client retried after %s, want one second", took)
	}
	if rule.Hits() != 1 || len(server.requests()) != 1 {
		t.Errorf("%d hits, %d made; want 1 and 1", rule.Hits(), len(server.requests()))
	}
}

func TestWhichRequestsARuleActsOn(t *testing.T) {
	for name, test := range map[string]struct {
		rules []Rule
		want  string // per request: k for ok, c for conflict, e for internal error
	}{
		"always":                             {[]Rule{{Do: Answer(409)}}, "ccccc"},
		"the first two":                      {[]Rule{{Times: 2, Do: Answer(409)}}, "cckkk"},
		"the second and third":               {[]Rule{{Skip: 1, Times: 2, Do: Answer(409)}}, "kcckk"},
		"all but the first three":            {[]Rule{{Skip: 3, Do: Answer(409)}}, "kkkcc"},
		"the first rule that ends a request": {[]Rule{{Times: 2, Do: Answer(409)}, {Do: Answer(500)}}, "cceee"},
		"a rule isn't used up by others":     {[]Rule{{Times: 2, Do: Answer(409)}, {Times: 1, Do: Answer(500)}}, "ccekk"},
		"a rule that doesn't match":          {[]Rule{{Match: Match{Verbs: []string{"get"}}, Do: Answer(409)}}, "kkkkk"},
	} {
		t.Run(name, func(t *testing.T) {
			_, proxy, client := startAll(t)
			for _, rule := range test.rules {
				proxy.Add(rule)
			}
			got := ""
			for range test.want {
				err := patchStatus(t.Context(), client)
				switch {
				case err == nil:
					got += "k"
				case apierrors.IsConflict(err):
					got += "c"
				case apierrors.IsInternalError(err):
					got += "e"
				default:
					t.Fatal(err)
				}
			}
			if got != test.want {
				t.Errorf("outcomes %s, want %s", got, test.want)
			}
		})
	}
}

func TestRemovedRuleDoesNotAct(t *testing.T) {
	_, proxy, client := startAll(t)
	rule := proxy.Add(Rule{Do: Answer(409)})
	if err := patchStatus(t.Context(), client); !apierrors.IsConflict(err) {
		t.Fatalf("before: %v", err)
	}
	rule.Remove()
	rule.Remove()
	if err := patchStatus(t.Context(), client); err != nil {
		t.Errorf("after: %v", err)
	}
	if rule.Hits() != 1 {
		t.Errorf("%d hits, want 1", rule.Hits())
	}
}

func TestPausedRequestIsMadeWhenReleased(t *testing.T) {
	server, proxy, client := startAll(t)
	hold := proxy.Pause(Match{Verbs: Writes()})
	done := make(chan error, 1)
	go func() { done <- patchStatus(t.Context(), client) }()
	if err := hold.Wait(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	if err := get(t.Context(), client); err != nil {
		t.Errorf("a request that doesn't match fails: %v", err)
	}
	if slices.Contains(server.requests(), patchPath) {
		t.Error("the paused request was made")
	}
	hold.Release()
	if err := <-done; err != nil {
		t.Errorf("the released request: %v", err)
	}
	if !slices.Contains(server.requests(), patchPath) {
		t.Error("the released request wasn't made")
	}
}

func TestPausedRequestOfADisconnectedClientIsNeverMade(t *testing.T) {
	server, proxy, client := startAll(t)
	proxy.OnWrite(func(Step) {}) // this rule completes writes even without their client
	hold := proxy.Pause(Match{})
	ctx, leave := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { _ = patchStatus(ctx, client); close(done) }()
	if err := hold.Wait(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	leave()
	<-done
	if err := proxy.Quiet(t.Context(), 20*time.Millisecond, nil); err != nil {
		t.Fatal(err)
	}
	hold.Release()
	if made := server.requests(); len(made) != 0 {
		t.Errorf("made requests: %v, want none", made)
	}
}

func TestEndedWaitReportsTheHits(t *testing.T) {
	_, proxy, client := startAll(t)
	rule := proxy.Add(Rule{Name: "probe"})
	if err := get(t.Context(), client); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	err := rule.Wait(ctx, 2)
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), `rule "probe" has acted 1 of 2 times`) {
		t.Errorf("got %v", err)
	}
}

func TestOnWriteIsCalledBeforeAndAfterEachWrite(t *testing.T) {
	server, proxy, client := startAll(t)
	var steps []string
	made := map[Phase]int{}
	proxy.OnWrite(func(step Step) {
		steps = append(steps, string(step.Phase)+" "+step.Verb)
		made[step.Phase] = len(server.requests())
		if step.Phase == After && step.Status != 200 {
			t.Errorf("status %d", step.Status)
		}
	})
	if err := errors.Join(get(t.Context(), client), patchStatus(t.Context(), client)); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"before patch", "after patch"}, steps); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[Phase]int{Before: 1, After: 2}, made); diff != "" {
		t.Errorf("requests made (-want +got):\n%s", diff)
	}
}

// TestWriteIsMadeAlthoughItsClientDisconnects kills a client between its request and the answer. A rule such as OnWrite
// still makes the request.
func TestWriteIsMadeAlthoughItsClientDisconnects(t *testing.T) {
	server := startAPIServer(t)
	arrived, finish := make(chan struct{}), make(chan struct{})
	var cut error
	proxy := startProxy(t, server.config())
	rule := proxy.Add(Rule{Do: AnswerAfter(500)})
	proxy.Add(Rule{Do: Notify(func(step Step) {
		if step.Phase == Before {
			close(arrived)
			<-finish
			return
		}
		cut = step.Err
	})})
	ctx, leave := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { _ = patchStatus(ctx, clientOf(t, proxy.Config())); close(done) }()
	<-arrived
	leave()
	<-done
	time.Sleep(20 * time.Millisecond) // wait until the proxy notices; too short a wait only hides a defect
	close(finish)
	if err := proxy.Quiet(t.Context(), 20*time.Millisecond, nil); err != nil {
		t.Fatal(err)
	}
	if cut != nil || len(server.requests()) != 1 || rule.Hits() != 1 {
		t.Errorf("error %v, made %v", cut, server.requests())
	}
}
