package doctor

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/version"

	"nowake.ai/svc-lb-mux/cmd/svcmux/cli"
)

// plane is a kind of data plane, as docs/providers.md lists them.
type plane string

const (
	kubeProxy  plane = "kube-proxy"
	cilium     plane = "Cilium"
	antrea     plane = "Antrea"
	calico     plane = "Calico"
	dataplane2 plane = "GKE Dataplane V2"
	ovn        plane = "OVN-Kubernetes"
	kubeRouter plane = "kube-router"
)

// running is a data plane that a DaemonSet runs.
type running struct {
	plane
	namespace string
	release   *version.Version // nil if the image has no tag with a version
}

// runningOf recognizes the DaemonSet of a data plane.
func runningOf(namespace, name, image string) (running, bool) {
	base, tag := imageOf(image)
	r := running{namespace: namespace}
	r.release, _ = version.ParseGeneric(tag)
	switch {
	case name == "anetd":
		r.plane = dataplane2
	case base == "kube-proxy":
		r.plane = kubeProxy
	case base == "cilium":
		r.plane = cilium
	case strings.HasPrefix(base, "antrea-agent") || base == "antrea-ubuntu":
		r.plane = antrea
	case base == "node" && strings.Contains(image, "calico/"):
		r.plane = calico
	case strings.HasPrefix(name, "ovnkube-node"):
		r.plane = ovn
	case base == "kube-router":
		r.plane = kubeRouter
	default:
		return running{}, false
	}
	return r, true
}

// IsDataPlane is true for the DaemonSet of a data plane that the check of ipMode knows.
func IsDataPlane(name, image string) bool {
	_, is := runningOf("", name, image)
	return is
}

// judge returns whether the data planes of a cluster honour ipMode. replaces reads in Cilium's settings whether Cilium
// handles Services in place of kube-proxy, which may run all the same.
func judge(all []running, replaces func(namespace string) (replaces, known bool)) (State, string) {
	find := func(kind plane) *running {
		if i := slices.IndexFunc(all, func(r running) bool { return r.plane == kind }); i >= 0 {
			return &all[i]
		}
		return nil
	}
	proxy := find(kubeProxy)
	if c := find(cilium); c != nil {
		if does, known := replaces(c.namespace); does || !known && proxy == nil {
			return c.since(version.MajorMinor(1, 17), "1.18.0")
		}
	}
	for _, kind := range [...]plane{dataplane2, ovn, kubeRouter} {
		if r := find(kind); r != nil && proxy == nil {
			return Unknown, "it isn't known whether " + r.String() + " honours ipMode"
		}
	}
	if a := find(antrea); a != nil {
		return a.since(version.MajorMinor(2, 0), "")
	}
	if proxy != nil {
		return proxy.since(version.MajorMinor(1, minorOfIPMode), "")
	}
	if c := find(calico); c != nil {
		return OK, c.String() + " without kube-proxy honours ipMode, by its source code"
	}
	return Unknown, "kube-proxy isn't run by a DaemonSet"
}

// since judges a data plane by its first release that honours ipMode. The release but is later, and doesn't honour it.
func (r *running) since(first *version.Version, but string) (State, string) {
	switch {
	case r.release == nil:
		return Unknown, fmt.Sprintf("%s honours ipMode from %s: the image's tag doesn't tell its release", r.plane, first)
	case r.release.LessThan(first) || r.release.String() == but:
		return Failure, r.String() + " ignores ipMode"
	}
	return OK, r.String() + " honours ipMode"
}

func (r *running) String() string {
	if r.release == nil {
		return string(r.plane)
	}
	return string(r.plane) + " " + cli.Shown(r.release.String())
}
