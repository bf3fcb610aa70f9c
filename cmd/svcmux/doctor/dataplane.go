package doctor

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/version"

	"nowake.ai/svc-lb-mux/cmd/svcmux/cli"
	"nowake.ai/svc-lb-mux/cmd/svcmux/kube"
)

const minorOfIPMode = 30 // ipMode is on by default since Kubernetes 1.30

// server checks that the API server keeps ipMode.
func (e *examination) server() {
	var answer struct{ GitVersion string }
	if _, err := e.cluster.JSON(e.ctx, "/version", &answer); err != nil {
		e.failed("server", "the version of the API server", err)
		return
	}
	release, err := version.ParseGeneric(answer.GitVersion)
	shown := "Kubernetes " + cli.Shown(answer.GitVersion)
	switch {
	case err != nil:
		e.add("server", Unknown, "the API server's version is "+cli.Shown(answer.GitVersion), "see docs/versions.md")
	case release.LessThan(version.MajorMinor(1, minorOfIPMode)):
		e.add("server", Failure, shown+" drops ipMode: a channel can get another channel's traffic within the cluster",
			"upgrade to 1.30 or newer")
	default:
		e.add("server", OK, shown+" keeps ipMode", "")
	}
}

// daemonSet has the fields of a DaemonSet that are checked.
type daemonSet struct {
	Metadata struct{ Namespace, Name string }
	Spec     struct {
		Template struct {
			Spec struct {
				Containers []struct{ Image string }
			}
		}
	}
}

// dataPlane checks that the data plane of the nodes honours ipMode.
func (e *examination) dataPlane() {
	var running []running
	if _, err := kube.JSONPages(e.ctx, e.cluster, "/apis/apps/v1/daemonsets", func(sets []daemonSet) {
		for _, set := range sets {
			for _, container := range set.Spec.Template.Spec.Containers {
				if found, is := runningOf(set.Metadata.Namespace, set.Metadata.Name, container.Image); is {
					running = append(running, found)
				}
			}
		}
	}); err != nil {
		e.failed("dataplane", "DaemonSets", err)
		return
	}
	state, message := judge(running, e.ciliumReplacesKubeProxy)
	if len(running) == 0 {
		state, message = e.kubelets()
	}
	wayOut := ""
	switch state {
	case Unknown:
		wayOut = "docs/providers.md has a test with two channels that tells, under \"Data planes and ipMode\""
	case Failure:
		wayOut = "upgrade the data plane: until then a channel can get another channel's traffic within the cluster " +
			"(docs/providers.md)"
	}
	e.add("dataplane", state, message, wayOut)
	e.networks(running)
}

// ciliumReplacesKubeProxy returns whether Cilium handles Services in place of kube-proxy, and whether its settings
// could be read.
func (e *examination) ciliumReplacesKubeProxy(namespace string) (replaces, known bool) {
	settings, err := e.cluster.ConfigMap(e.ctx, types.NamespacedName{Namespace: namespace, Name: "cilium-config"})
	if err != nil || settings == nil {
		return false, false
	}
	value := settings.Data["kube-proxy-replacement"]
	return value == "true" || value == "strict", true // strict is the former name
}

// kubelets judges by the release of the oldest kubelet, if no DaemonSet runs a known data plane: kube-proxy may be a
// process or a static pod, usually of the kubelet's release.
func (e *examination) kubelets() (State, string) {
	const unseen = "no DaemonSet of a known data plane was found. kube-proxy may be a process or a static pod"
	type node struct {
		Status struct {
			NodeInfo struct{ KubeletVersion string }
		}
	}
	var oldest *version.Version
	if _, err := kube.JSONPages(e.ctx, e.cluster, "/api/v1/nodes", func(nodes []node) {
		for _, node := range nodes {
			release, err := version.ParseGeneric(node.Status.NodeInfo.KubeletVersion)
			if err == nil && (oldest == nil || release.LessThan(oldest)) {
				oldest = release
			}
		}
	}); err != nil {
		return Unknown, unseen
	}
	switch {
	case oldest == nil:
		return Unknown, unseen
	case oldest.LessThan(version.MajorMinor(1, minorOfIPMode)):
		return Failure, fmt.Sprintf("the oldest kubelet is %s: a kube-proxy of that release ignores ipMode", oldest)
	}
	return Unknown, fmt.Sprintf("%s: a kube-proxy of the oldest kubelet's release, %s, honours ipMode", unseen, oldest)
}

// ipMode counts the addresses of channels that lack ipMode Proxy: a data plane would treat the mux's address as the
// channel's own.
func (e *examination) ipMode(name string, addresses []corev1.LoadBalancerIngress) {
	wrong, all := 0, 0
	for _, address := range addresses {
		if address.IP == "" {
			continue
		}
		if all++; address.IPMode == nil || *address.IPMode != corev1.LoadBalancerIPModeProxy {
			wrong++
		}
	}
	switch {
	case wrong > 0:
		e.add("ipMode", Failure,
			fmt.Sprintf("ipMode Proxy is missing from %s of channels of %s", cli.Count(wrong, "IP"), name),
			"find the writer that removes it: a channel can get another channel's traffic within the cluster")
	case all > 0:
		e.add("ipMode", OK, fmt.Sprintf("%s of channels of %s have ipMode Proxy", cli.Count(all, "IP"), name), "")
	}
}

// imageOf returns the last part of an image's name, and its tag.
func imageOf(image string) (name, tag string) {
	image, _, _ = strings.Cut(image, "@")
	image = image[strings.LastIndexByte(image, '/')+1:]
	name, tag, _ = strings.Cut(image, ":")
	return name, tag
}
