// Command flux reconciles manifests as Flux's kustomize-controller does, with the same engine, and prints the result.
//
//	flux [-times N] [-ignore RULES] <manifests.yaml
//
// The controller's own parts are missing: from a Git repository to a list of objects, and from a result to conditions
// and Events. The command sets the controller's default options for the engine.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/fluxcd/pkg/ssa"
	"github.com/fluxcd/pkg/ssa/utils"
	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// Round is a reconciliation.
type Round struct {
	Drift   []string `json:"drift"`   // differences from the manifests before the reconciliation
	Applied []string `json:"applied"` // objects that the reconciliation wrote
	Error   string   `json:"error"`
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	times := flag.Int("times", 1, "how often to reconcile")
	ignore := flag.String("ignore", "", "spec.ignore of a Kustomization, as YAML")
	flag.Parse()
	if err := run(ctx, *times, *ignore); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, times int, ignore string) error {
	log.SetLogger(logr.Discard())
	rules, err := ignoreRules(ignore)
	if err != nil {
		return err
	}
	manager, err := newManager()
	if err != nil {
		return err
	}
	manifests, err := io.ReadAll(os.Stdin)
	if err != nil {
		return err
	}
	rounds := []Round{}
	for range times {
		objects, err := read(manager, manifests)
		if err != nil {
			return err
		}
		rounds = append(rounds, reconcile(ctx, manager, objects, rules))
	}
	return json.NewEncoder(os.Stdout).Encode(rounds)
}

// newManager reads from the API server without a cache, as the controller does for objects that it applies.
func newManager() (*ssa.ResourceManager, error) {
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv(clientcmd.RecommendedConfigPathEnvVar))
	if err != nil {
		return nil, err
	}
	config.QPS = -1 // no client-side limit: the API server's priority and fairness suffices
	kube, err := client.New(config, client.Options{Scheme: runtime.NewScheme()})
	if err != nil {
		return nil, err
	}
	// There is no poller. Only CustomResourceDefinitions need one: they must be established before their objects are
	// created.
	manager := ssa.NewResourceManager(kube, nil, ssa.Owner{Field: controller, Group: group})
	manager.SetConcurrency(4)
	return manager, nil
}

// reconcile compares first and applies then, so the result has both the drift and the writes.
func reconcile(ctx context.Context, manager *ssa.ResourceManager, objects []*unstructured.Unstructured,
	rules ignored) Round {
	round := Round{Drift: []string{}, Applied: []string{}}
	for _, object := range objects {
		text, err := drift(ctx, manager, object, rules)
		if err != nil {
			round.Error = err.Error()
			return round
		}
		if text != "" {
			round.Drift = append(round.Drift, utils.FmtUnstructured(object)+": "+text)
		}
	}
	changes, err := manager.ApplyAllStaged(ctx, objects, applyOptions(rules))
	if err != nil {
		round.Error = err.Error()
	}
	if changes == nil {
		return round
	}
	for _, entry := range changes.Entries {
		if entry.Action != ssa.UnchangedAction && entry.Action != ssa.SkippedAction {
			round.Applied = append(round.Applied, entry.Subject+" "+entry.Action.String())
		}
	}
	return round
}
