// Command flux reconciles manifests as Flux's kustomize-controller does, with the engine that it does it with, and prints
// what came of it.
//
//	flux [-times N] [-ignore RULES] <manifests.yaml
//
// The controller's own part, from a Git repository to a list of objects and from a result to conditions and Events, isn't
// here. What is: the options that it gives the engine unless its user says otherwise.
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

// A Round is one reconciliation.
type Round struct {
	Drift   []string `json:"drift"`   // what differs from the manifests before it, and how
	Applied []string `json:"applied"` // what it wrote
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

// newManager reads and writes the API server itself, without a cache, as the controller does for what it applies.
func newManager() (*ssa.ResourceManager, error) {
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv(clientcmd.RecommendedConfigPathEnvVar))
	if err != nil {
		return nil, err
	}
	config.QPS = -1 // the API server's own fairness is enough
	kube, err := client.New(config, client.Options{Scheme: runtime.NewScheme()})
	if err != nil {
		return nil, err
	}
	// No poller: that is for definitions, which must be established before what is made of them.
	manager := ssa.NewResourceManager(kube, nil, ssa.Owner{Field: controller, Group: group})
	manager.SetConcurrency(4)
	return manager, nil
}

// reconcile looks first and then applies, so that a write can be told from what it was for.
func reconcile(ctx context.Context, manager *ssa.ResourceManager, objects []*unstructured.Unstructured, rules ignored) Round {
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
