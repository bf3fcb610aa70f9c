// Package versions is `svcmux version`: the release of this program, and the releases of webhook and reconciler in a
// cluster.
package versions

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"nowake.ai/svc-lb-mux/cmd/svcmux/cli"
)

// versionLabel is the chart's label with the release, for images that are named by digest.
const versionLabel = "app.kubernetes.io/version"

const unknown = "unknown"

// part is a program that runs in the cluster.
type part struct {
	Name       string `json:"name"` // webhook or reconciler
	Version    string `json:"version"`
	Namespace  string `json:"namespace"`
	Deployment string `json:"deployment"`
}

// partsOf returns webhook and reconciler of all releases, sorted.
func partsOf(deployments []*appsv1.Deployment) []part {
	parts := []part{}
	for _, d := range deployments {
		for _, container := range d.Spec.Template.Spec.Containers {
			if container.Name == "webhook" || container.Name == "reconciler" {
				parts = append(parts, part{container.Name, versionOf(container, d.Labels), d.Namespace, d.Name})
			}
		}
	}
	slices.SortFunc(parts, func(a, b part) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), -cmp.Compare(a.Name, b.Name),
			cmp.Compare(a.Deployment, b.Deployment))
	})
	return parts
}

// versionOf returns the tag of a container's image, or the label if the image is named by digest.
func versionOf(container corev1.Container, labels map[string]string) string {
	image, _, _ := strings.Cut(container.Image, "@")
	if at := strings.LastIndexByte(image, ':'); at > strings.LastIndexByte(image, '/') {
		return image[at+1:]
	}
	return cmp.Or(labels[versionLabel], unknown)
}

// skews returns a sentence for each part whose release isn't this program's. All parts are released together.
func skews(ours string, parts []part) []string {
	var told []string
	for _, p := range parts {
		at := cli.Shown(p.Namespace + "/" + p.Deployment)
		switch {
		case p.Version == unknown:
			told = append(told, fmt.Sprintf("the release of the %s in %s is unknown: its image has no tag", p.Name, at))
		case normal(p.Version) != normal(ours):
			told = append(told,
				fmt.Sprintf("the %s in %s is %s and this program is %s: they may judge differently: use svcmux %s",
					p.Name, at, cli.Shown(p.Version), cli.Shown(ours), cli.Shown(p.Version)))
		}
	}
	return told
}

// normal drops the v in front: users set tags with and without it.
func normal(version string) string { return strings.TrimPrefix(version, "v") }
