package doctor

import (
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
		e.add("unchecked", Unknown, "without Deployments, the checks "+strings.Join([]string{webhook, reconciler, "leader", "rights", "certificate", "alerts"}, ", ")+" are left out", "")
		return
	}
	found := versions.In(e.deployments, e.version)
	switch {
	case len(found.Reconciler) == 0:
		e.add("versions", Failure, "no Deployment of the reconciler was found", "install the chart: nobody carries changes out")
	case len(found.Webhook) == 0:
		e.add("versions", Failure, "no Deployment of the webhook was found", "install the chart: nobody refuses mistakes")
	case len(found.Skew) > 0:
		e.add("versions", Warning, strings.Join(found.Skew, "; "), "upgrade all parts to one release")
	default:
		e.add("versions", OK, "webhook, reconciler and svcmux are "+cli.Shown(e.version), "")
	}
}

// pods checks that the replicas of webhook and reconciler are available.
func (e *examination) pods() {
	for _, part := range [...]string{webhook, reconciler} {
		for _, d := range e.find(part) {
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

// usualLease is the name of the lease unless the flag --lease-name gives another one.
const usualLease = "svc-lb-mux-reconciler"

// leaseOf returns the name of a reconciler's lease.
func leaseOf(d *appsv1.Deployment) string {
	for _, container := range d.Spec.Template.Spec.Containers {
		for _, arg := range container.Args {
			if name, is := strings.CutPrefix(arg, "--lease-name="); is {
				return name
			}
		}
	}
	return usualLease
}

// lease checks that a reconciler leads.
func (e *examination) lease() {
	for _, d := range e.find(reconciler) {
		var lease struct {
			Spec struct {
				HolderIdentity       string
				LeaseDurationSeconds int
				RenewTime            *time.Time
			}
		}
		name := cli.Shown(d.Namespace + "/" + leaseOf(d))
		found, err := e.cluster.JSON(e.ctx, "/apis/coordination.k8s.io/v1/namespaces/"+d.Namespace+"/leases/"+leaseOf(d), &lease)
		const wayOut = "read the reconciler's log"
		switch spec := &lease.Spec; {
		case err != nil:
			e.failed("leader", "the Lease "+name, err)
		case !found:
			e.add("leader", Warning, "there is no Lease "+name, "if leader election is on, "+wayOut)
		case spec.HolderIdentity == "" || spec.RenewTime == nil:
			e.add("leader", Failure, "nobody holds the Lease "+name, wayOut)
		case e.now.Sub(*spec.RenewTime) > time.Duration(spec.LeaseDurationSeconds)*time.Second:
			e.add("leader", Failure, fmt.Sprintf("%s holds the Lease %s, and last renewed it %s ago", cli.Shown(spec.HolderIdentity), name, cli.Age(e.now.Sub(*spec.RenewTime))), wayOut)
		default:
			e.add("leader", OK, cli.Shown(spec.HolderIdentity)+" leads", "")
		}
	}
}

// alerts checks that rules for alerts are there, where Prometheus' operator is.
func (e *examination) alerts() {
	for _, d := range e.find(reconciler) {
		var rules struct {
			Items []struct {
				Metadata struct{ Name string }
			}
		}
		found, err := e.cluster.JSON(e.ctx, "/apis/monitoring.coreos.com/v1/namespaces/"+d.Namespace+"/prometheusrules", &rules)
		at := "namespace " + cli.Shown(d.Namespace)
		switch {
		case err != nil:
			e.failed("alerts", "PrometheusRules of "+at, err)
		case !found:
			e.add("alerts", OK, "the cluster has no PrometheusRule kind, so alerts can't be checked", "")
		case len(rules.Items) == 0:
			e.add("alerts", Warning, "there is no PrometheusRule in "+at, "set monitoring.rules.enabled=true in the chart's values")
		default:
			e.add("alerts", OK, cli.Count(len(rules.Items), "PrometheusRule")+" in "+at, "")
		}
	}
}
