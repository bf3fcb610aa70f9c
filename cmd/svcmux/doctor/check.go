package doctor

import (
	"context"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"nowake.ai/svc-lb-mux/cmd/svcmux/cli"
	"nowake.ai/svc-lb-mux/cmd/svcmux/kube"
	"nowake.ai/svc-lb-mux/cmd/svcmux/look"
)

// Schema is the version of the output for programs. Fields may be added; existing fields don't change.
const Schema = "svc-lb-mux/doctor/v1"

// State is the result of a check.
type State string

// The results. Unknown means that the check has no result, for example because the user lacks a right.
const (
	OK      State = "ok"
	Warning State = "warning"
	Failure State = "failure"
	Unknown State = "unknown"
)

// Check is a result, and what to do.
type Check struct {
	Name    string `json:"name"`
	State   State  `json:"state"`
	Message string `json:"message"`
	WayOut  string `json:"wayOut,omitempty"`
}

// examination runs the checks.
type examination struct {
	ctx     context.Context
	cluster *kube.Cluster
	ask     look.Ask
	now     time.Time
	version string

	deployments []*appsv1.Deployment
	unread      error // why Deployments can't be read
	world       *look.World
	unreadWorld error
	ownNetworks sets.Set[string] // the namespaces on a primary user-defined network of OVN-Kubernetes
	checks      []Check
}

// Examine runs all checks, in the order of the report. version is the release of this program.
func Examine(ctx context.Context, cluster *kube.Cluster, ask look.Ask, version string) []Check {
	e := &examination{ctx: ctx, cluster: cluster, ask: ask, now: ask.Now(), version: version}
	e.deployments, e.unread = cluster.Deployments(ctx, "", kube.ChartSelector)
	e.world, e.unreadWorld = look.Read(ctx, cluster, ask)
	for _, check := range [...]func(){
		e.versions, e.pods, e.lease, e.rights, e.admission, e.certificate, e.server, e.dataPlane, e.gateways,
		e.muxes, e.alerts,
	} {
		check()
	}
	return e.checks
}

func (e *examination) add(name string, state State, message, wayOut string) {
	e.checks = append(e.checks, Check{name, state, message, wayOut})
}

// failed adds the result Unknown for a read that failed. The other checks go on.
func (e *examination) failed(name, object string, err error) {
	if kube.IsForbidden(err) {
		e.add(name, Unknown, "you may not read "+look.Unavailable(object, err),
			"ask for this right, or ask an administrator to run svcmux doctor")
		return
	}
	e.add(name, Unknown, object+" can't be read: "+cli.Sentence(err.Error()), "run svcmux doctor again")
}

// find returns the Deployments with a container of this name.
func (e *examination) find(container string) []*appsv1.Deployment {
	var found []*appsv1.Deployment
	for _, d := range e.deployments {
		for _, c := range d.Spec.Template.Spec.Containers {
			if c.Name == container {
				found = append(found, d)
			}
		}
	}
	return found
}

// flagOf returns the value of a flag of a container; "" if it isn't set.
func flagOf(d *appsv1.Deployment, container, flag string) string {
	for _, c := range d.Spec.Template.Spec.Containers {
		for _, arg := range c.Args {
			if value, is := strings.CutPrefix(arg, flag+"="); is && c.Name == container {
				return value
			}
		}
	}
	return ""
}

// hasFlag is true if a container has a flag without a value.
func hasFlag(d *appsv1.Deployment, container, flag string) bool {
	return slices.ContainsFunc(d.Spec.Template.Spec.Containers, func(c corev1.Container) bool {
		return c.Name == container && slices.Contains(c.Args, flag)
	})
}
