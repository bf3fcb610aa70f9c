package doctor

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"

	"nowake.ai/svc-lb-mux/cmd/svcmux/cli"
	"nowake.ai/svc-lb-mux/cmd/svcmux/versions"
)

const (
	webhook    = "webhook"
	reconciler = "reconciler"
)

// versions compares the releases of webhook, reconciler and svcmux.
func (e *examination) versions() {
	if e.unread != nil {
		e.failed("versions", "Deployments", e.unread)
		e.add("unchecked", Unknown, "without Deployments, the checks "+
			strings.Join([]string{webhook, reconciler, "leader", "rights", "certificate", "gateways", "alerts"}, ", ")+
			" are left out", "")
		return
	}
	found := versions.In(e.deployments, e.version)
	switch {
	case len(found.Reconciler) == 0:
		e.add("versions", Failure, "no Deployment of the reconciler was found: channels get no ports", "install the chart")
	case len(found.Webhook) == 0:
		e.add("versions", Failure, "no Deployment of the webhook was found: mistakes in muxes and channels aren't refused",
			"install the chart")
	case len(found.Skew) > 0:
		e.add("versions", Warning, strings.Join(found.Skew, "; "), "upgrade all parts to one release")
	default:
		e.add("versions", OK, "webhook, reconciler and svcmux are "+cli.Shown(e.version), "")
	}
}

// pods checks that the replicas of webhook and reconciler are available.
func (e *examination) pods() {
	for _, container := range [...]string{webhook, reconciler, controller} {
		part := container
		if container == controller {
			part = "gateways"
		}
		for _, d := range e.find(container) {
			wanted, ready := int32(1), d.Status.AvailableReplicas
			if d.Spec.Replicas != nil {
				wanted = *d.Spec.Replicas
			}
			at := cli.Shown(d.Namespace + "/" + d.Name)
			message := fmt.Sprintf("%d of %s available, Deployment %s", ready, cli.Count(int(wanted), "pod"), at)
			wayOut := fmt.Sprintf("see kubectl describe deployment --namespace %s %s", cli.Shown(d.Namespace), cli.Shown(d.Name))
			switch {
			case ready == 0:
				e.add(part, Failure, message, wayOut)
			case ready < wanted:
				e.add(part, Warning, message, wayOut)
			case wanted == 1:
				e.add(part, OK, message+": no other pod stands by", "")
			default:
				e.add(part, OK, message, "")
			}
		}
	}
}

// leaseOf returns the name of the Lease for which the pods of a Deployment compete.
func leaseOf(d *appsv1.Deployment, container string) string {
	if container == controller {
		return cmp.Or(flagOf(d, container, "--lease-name"), "svc-lb-mux-gateways")
	}
	return cmp.Or(flagOf(d, container, "--lease-name"), "svc-lb-mux-reconciler")
}

// slack is how many lease durations may pass after a Lease is renewed: the clocks of its holder and of this machine
// differ.
const slack = 2

// lease checks that a reconciler leads, and a controller of gateways if there are gateways.
func (e *examination) lease() {
	for _, d := range e.find(reconciler) {
		e.leads(d, reconciler, "")
	}
	for _, d := range e.find(controller) {
		e.leads(d, controller, " the gateways' controller")
	}
}

func (e *examination) leads(d *appsv1.Deployment, container, whom string) {
	var lease struct {
		Spec struct {
			HolderIdentity       string
			LeaseDurationSeconds int
			RenewTime            *time.Time
		}
	}
	name := cli.Shown(d.Namespace + "/" + leaseOf(d, container))
	found, err := e.cluster.JSON(e.ctx, "/apis/coordination.k8s.io/v1/namespaces/"+d.Namespace+"/leases/"+
		leaseOf(d, container), &lease)
	wayOut := "read the log of the " + container
	switch spec := &lease.Spec; {
	case err != nil:
		e.failed("leader", "the Lease "+name, err)
	case !found:
		e.add("leader", Warning, "the Lease "+name+" doesn't exist", "if leader election is on, "+wayOut)
	case spec.HolderIdentity == "" || spec.RenewTime == nil:
		e.add("leader", Failure, "the Lease "+name+" has no holder: no "+container+" leads", wayOut)
	case e.now.Sub(*spec.RenewTime) > slack*time.Duration(spec.LeaseDurationSeconds)*time.Second:
		e.add("leader", Failure, fmt.Sprintf("%s holds the Lease %s, and last renewed it %s ago",
			cli.Shown(spec.HolderIdentity), name, cli.Age(e.now.Sub(*spec.RenewTime))), wayOut)
	default:
		e.add("leader", OK, cli.Shown(spec.HolderIdentity)+" leads"+whom, "")
	}
}

// alerts checks that rules for alerts exist, if the cluster has the Prometheus operator.
func (e *examination) alerts() {
	for _, d := range e.find(reconciler) {
		var rules struct {
			Items []struct {
				Metadata struct{ Name string }
			}
		}
		found, err := e.cluster.JSON(e.ctx, "/apis/monitoring.coreos.com/v1/namespaces/"+d.Namespace+"/prometheusrules",
			&rules)
		at := "namespace " + cli.Shown(d.Namespace)
		switch {
		case err != nil:
			e.failed("alerts", "PrometheusRules of "+at, err)
		case !found:
			e.add("alerts", Unknown, "the cluster has no Prometheus operator, so alerts aren't checked",
				"see docs/operations.md for the rules")
		case len(rules.Items) == 0:
			e.add("alerts", Warning, at+" has no PrometheusRule", "set monitoring.rules.enabled=true in the chart's values")
		default:
			e.add("alerts", OK, cli.Count(len(rules.Items), "PrometheusRule")+" in "+at, "")
		}
	}
}
