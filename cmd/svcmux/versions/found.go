package versions

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
)

// Found are the releases that run in a cluster.
type Found struct {
	Webhook, Reconciler []string // releases
	Skew                []string // sentences about releases other than this program's
}

// In returns the releases of Deployments, and how they differ from this program's.
func In(deployments []*appsv1.Deployment, ours string) Found {
	parts := partsOf(deployments)
	found := Found{Skew: skews(ours, parts)}
	for _, p := range parts {
		if p.Name == "webhook" {
			found.Webhook = append(found.Webhook, p.Version)
		} else {
			found.Reconciler = append(found.Reconciler, p.Version)
		}
	}
	slices.Sort(found.Webhook)
	slices.Sort(found.Reconciler)
	return found
}
