// Command argo reconciles manifests as Argo CD's application controller does, with the same engine, and prints the
// result.
//
//	argo [-times N] [-server-side-apply] [-server-side-diff] [-always] [-ignore RULES] <manifests.yaml
//
// The controller's own parts are missing: from a Git repository to a list of objects, and from a result to an
// Application's status. The command implements how the controller finds the objects it owns, and its options for the
// engine. It also syncs automatically what is out of sync, with prune and selfHeal.
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

	"github.com/argoproj/argo-cd/gitops-engine/pkg/utils/kube"
	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
)

// Round is a comparison, and the sync that followed if anything differed.
type Round struct {
	Drift   []string          `json:"drift"`   // objects that are out of sync, with their differences
	Applied []string          `json:"applied"` // the sync's result for each object, if there was a sync
	Health  map[string]string `json:"health"`  // health of each object before the sync, by kind and name
	Error   string            `json:"error"`
}

// settings are the options of an Application and of the controller.
type settings struct {
	times           int
	serverSideApply bool // syncPolicy.syncOptions: ServerSideApply=true
	serverSideDiff  bool // the annotation compare-options: ServerSideDiff=true, or the controller's flag
	always          bool // sync each time, as if a user pressed Sync
	ignore          string
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	var s settings
	flag.IntVar(&s.times, "times", 1, "how often to reconcile")
	flag.BoolVar(&s.serverSideApply, "server-side-apply", false, "apply on the server's side")
	flag.BoolVar(&s.serverSideDiff, "server-side-diff", false, "compare with what the server says")
	flag.BoolVar(&s.always, "always", false, "sync each time, not only what is out of sync")
	flag.StringVar(&s.ignore, "ignore", "", "spec.ignoreDifferences of an Application, as YAML")
	flag.Parse()
	if err := run(ctx, s); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, s settings) error {
	klog.SetLogger(logr.Discard())
	manifests, err := io.ReadAll(os.Stdin)
	if err != nil {
		return err
	}
	engine, err := start(s)
	if err != nil {
		return err
	}
	defer engine.stop()
	rounds := []Round{}
	for range s.times {
		objects, err := kube.SplitYAML(manifests)
		if err != nil {
			return err
		}
		rounds = append(rounds, engine.reconcile(ctx, track(objects)))
	}
	return json.NewEncoder(os.Stdout).Encode(rounds)
}
