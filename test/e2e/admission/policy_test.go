package admission

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nowake.ai/svc-lb-mux/test/cluster/cluster"
	"nowake.ai/svc-lb-mux/test/corpus"
	"nowake.ai/svc-lb-mux/validation"
)

func testPolicy(t *testing.T, w world) {
	w.Apply(t, w.render(t, "admission-policy.yaml", "policy.enabled=true")+"\n---"+teller)
	waitForPolicy(t, w)
	lang, cases := loadCorpus(t, w)

	t.Run("the corpus", func(t *testing.T) { agreesOnCorpus(t, w, lang, cases) })
	t.Run("changes from one Service of the corpus to another", func(t *testing.T) { agreesOnChanges(t, w, lang, cases) })
	t.Run("differences that the corpus doesn't show", func(t *testing.T) { differsBeyond(t, w, lang) })
	t.Run("the most expensive Services get a verdict", func(t *testing.T) { affordsTheDearest(t, w) })
	w.namespace(t, team)
	t.Run("a refused change keeps the live Service", func(t *testing.T) { survivesForce(t, w) })
	t.Run("no expression ever failed", func(t *testing.T) { neverFailed(t, w) })
	t.Run("Kubernetes reports no type errors", func(t *testing.T) { wellTyped(t, w) })
	for _, kind := range []string{"validatingadmissionpolicybinding/teller",
		"validatingadmissionpolicybinding/" + clusterName,
		"validatingadmissionpolicy/" + clusterName} {
		w.Kubectl(t, "delete", kind)
	}
	cluster.Eventually(t, "the API server has let go of the policy", func(ctx context.Context) error {
		_, err := w.user.CoreV1().Services(team).Create(ctx, channel("probe", "grcp:1"), dry())
		return err
	})
}

func loadCorpus(t *testing.T, w world) (validation.Language, []corpus.Case) {
	t.Helper()
	lang, err := corpus.Language()
	if err != nil {
		t.Fatal(err)
	}
	cases, err := corpus.Load()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		w.namespace(t, c.Service.Namespace)
	}
	return lang, slices.DeleteFunc(cases, func(c corpus.Case) bool { return c.Impossible })
}

func agreesOnCorpus(t *testing.T, w world, lang validation.Language, cases []corpus.Case) {
	known := differences()
	var mu sync.Mutex
	denials := 0
	atOnce(len(cases), func(i int) {
		c := cases[i]
		var old *corev1.Service
		if c.Old != nil {
			var err error
			if old, err = w.seed(t.Context(), c.Old); err != nil {
				t.Errorf("%s: creating the old Service: %v", c.Name(), err)
				return
			}
		}
		got, want := w.judge(t.Context(), old, c.Service), reasons(lang.Review(c.Old, c.Service).Denied)
		mu.Lock()
		defer mu.Unlock()
		if got.denied {
			denials++
		}
		if got.err != nil {
			t.Errorf("%s: Kubernetes refuses it: %v", c.Name(), got.err)
		}
		agrees := slices.Equal(got.reasons, want) && got.denied == (len(want) > 0)
		why, differs := known[c.About]
		delete(known, c.About)
		switch {
		case agrees && differs:
			t.Errorf("%s: policy and validation agree: remove it from the list of differences", c.Name())
		case differs && (got.denied || len(want) == 0):
			t.Errorf("%s: may differ because %s; but the policy denies it: %s", c.Name(), why, got.message)
		case !agrees && !differs:
			t.Errorf("%s: validation denies for %v, the policy for %v: %s", c.Name(), want, got.reasons, got.message)
		}
		if got.denied && !strings.Contains(got.message, "denied request: "+string(got.reasons[0])) {
			speaks(t, c, got)
		}
	})
	for about := range known {
		t.Errorf("the list of differences names %q, which isn't in the corpus", about)
	}
	t.Logf("%d Services, %d denied", len(cases), denials)
}

// speaks checks that a denial begins with one of the reasons.
func speaks(t *testing.T, c corpus.Case, got verdict) {
	for _, reason := range got.reasons {
		if strings.Contains(got.message, "denied request: "+string(reason)+": ") {
			return
		}
	}
	t.Errorf("%s: the denial doesn't begin with one of %v: %s", c.Name(), got.reasons, got.message)
}

// agreesOnChanges changes every sixth Service of the corpus to others of its file, and adds a label to it.
func agreesOnChanges(t *testing.T, w world, lang validation.Language, cases []corpus.Case) {
	const every, others = 6, 6
	files := map[string][]corpus.Case{}
	for _, c := range cases {
		files[c.File] = append(files[c.File], c)
	}
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // the same changes each time
	var olds []corpus.Case
	var picked [][]corpus.Case
	for i := 0; i < len(cases); i += every {
		file := files[cases[i].File]
		olds, picked = append(olds, cases[i]), append(picked, nil)
		for range others {
			picked[len(olds)-1] = append(picked[len(olds)-1], file[random.IntN(len(file))])
		}
	}
	known := differences()
	var mu sync.Mutex
	count := map[string]int{}
	atOnce(len(olds), func(i int) {
		from := olds[i]
		services := w.user.CoreV1().Services(from.Service.Namespace)
		old, err := w.seed(t.Context(), withoutNodePorts(from.Service))
		if apierrors.IsAlreadyExists(err) { // from the corpus' own updates
			old, err = services.Get(t.Context(), from.Service.Name, metav1.GetOptions{})
		}
		if err != nil {
			t.Errorf("%s: %v", from.Name(), err)
			return
		}
		labelled := old.DeepCopy()
		labelled.Labels = map[string]string{"a": "label"}
		if got := w.judge(t.Context(), old, labelled); got.denied || got.err != nil {
			t.Errorf("%s: a new label is denied: %+v", from.Name(), got)
		}
		for _, to := range picked[i] {
			next := withoutNodePorts(to.Service)
			next.Name, next.Namespace = old.Name, old.Namespace
			next.Spec.Type = cmp.Or(next.Spec.Type, corev1.ServiceTypeClusterIP) // the API server's default
			got, want := w.judge(t.Context(), old, next), reasons(lang.Review(old, next).Denied)
			mu.Lock()
			switch {
			case got.err != nil:
				count["impossible"]++ // a class can't change
			case slices.Equal(got.reasons, want) && got.denied == (len(want) > 0):
				count[fmt.Sprint("denied: ", got.denied)]++
			case isPart(got.reasons, want) && (known[to.About] != "" || from.File == "huge" || len(old.Spec.Ports) > 200):
				// See beyond: if the old value is too long to read, the rule allows the change.
				count["differ"]++
			default:
				t.Errorf("from %s to %s: validation denies for %v, the policy for %v: %s",
					from.Name(), to.Name(), want, got.reasons, got.message)
			}
			mu.Unlock()
		}
		w.remove(t, old)
	})
	t.Logf("changes: %v", count)
	if count["denied: true"] < 100 || count["denied: false"] < 100 {
		t.Errorf("too few changes were judged: %v", count)
	}
}

// isPart returns whether the policy has no reason that validation doesn't have.
func isPart(part, all []validation.Reason) bool {
	return !slices.ContainsFunc(part, func(r validation.Reason) bool { return !slices.Contains(all, r) })
}

// neverFailed reads the API server's metrics of expressions that were too expensive or couldn't be compiled. Other
// failures count as denials there. They have no reason of validation, so the tests before would have found them.
func neverFailed(t *testing.T, w world) {
	const metric = "apiserver_validating_admission_policy_check_total"
	all, err := w.user.CoreV1().RESTClient().Get().AbsPath("/metrics").DoRaw(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	denials := 0
	for line := range strings.Lines(string(all)) {
		switch {
		case !strings.HasPrefix(line, metric+"{"):
		case strings.Contains(line, `error_type="out_of_budget"`), strings.Contains(line, `error_type="compile_error"`):
			t.Errorf("the API server counts failures: %s", line)
		case strings.Contains(line, `enforcement_action="deny"`):
			denials++
		}
	}
	if denials == 0 {
		t.Errorf("the metrics show no denial in %s", metric)
	}
}

func wellTyped(t *testing.T, w world) {
	cluster.Eventually(t, "the policy's types are checked", func(ctx context.Context) error {
		policy, err := w.user.AdmissionregistrationV1().ValidatingAdmissionPolicies().Get(ctx, clusterName,
			metav1.GetOptions{})
		if err != nil {
			return err
		}
		if policy.Status.ObservedGeneration != policy.Generation {
			return fmt.Errorf("the status has generation %d, the policy %d", policy.Status.ObservedGeneration, policy.Generation)
		}
		if checked := policy.Status.TypeChecking; checked != nil {
			for _, found := range checked.ExpressionWarnings {
				t.Errorf("%s: %s", found.FieldRef, found.Warning)
			}
		}
		return nil
	})
}
