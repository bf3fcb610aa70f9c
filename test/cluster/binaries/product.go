package binaries

import (
	"fmt"
	"strings"
)

// Product is something to build: a folder with a Go module, and the files to keep in the cache.
type Product struct {
	Name    string
	Version string

	folder  string   // the module's folder, relative to test/cluster/
	pkg     string   // the package to build
	binary  string   // the name of the program
	links   []string // other names of the program
	more    []string // packages of further programs, which have the names of their folders
	modfile string   // a modfile to use instead of go.mod
	tags    string
	ldflags []string
	copies  []copied // data of a module that the program needs
	cost    string   // time of a first build, for the progress line
}

// copied is a folder inside a module that is copied into the cache with the program.
type copied struct{ module, from, to string }

// Kubernetes is etcd and all components, in one file under many names, and kubectl.
func Kubernetes(version string) Product {
	major, rest, _ := strings.Cut(version, ".")
	minor, _, _ := strings.Cut(rest, ".")
	p := Product{
		Name: "kubernetes", Version: version, folder: "binaries/kubernetes", pkg: ".", binary: "kubernetes",
		links: []string{"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kube-proxy",
			"kubelet"},
		more:    []string{"./kubectl"},
		modfile: modfileOf(version),
		cost:    "6 to 10 minutes on two cores",
	}
	// Charts with a kubeVersion, and kubectl's own version check, read these variables.
	for _, pkg := range []string{"k8s.io/component-base/version", "k8s.io/client-go/pkg/version"} {
		p.ldflags = append(p.ldflags,
			fmt.Sprintf("-X %s.gitVersion=v%s -X %s.gitMajor=%s -X %s.gitMinor=%s", pkg, version, pkg, major, pkg, minor))
	}
	if major == "1" && minor == "33" {
		p.tags = "k8s_1_33"
	}
	return p
}

// Helm3 is the Helm that most users install charts with today.
func Helm3() Product {
	return Product{
		Name: "helm3", Version: Helm3Version, folder: "binaries/helm3", pkg: "helm.sh/helm/v3/cmd/helm", binary: "helm",
		ldflags: []string{"-X helm.sh/helm/v3/internal/version.version=v" + Helm3Version,
			// `helm template` uses these as the cluster's version. The default is too old for today's charts.
			"-X helm.sh/helm/v3/pkg/chartutil.k8sVersionMajor=1 -X helm.sh/helm/v3/pkg/chartutil.k8sVersionMinor=36"},
		cost: "up to 2 minutes",
	}
}

// Helm4 is Helm 4, which uses server-side apply.
func Helm4() Product {
	return Product{
		Name: "helm4", Version: Helm4Version, folder: "binaries/helm4", pkg: "helm.sh/helm/v4/cmd/helm", binary: "helm4",
		ldflags: []string{"-X helm.sh/helm/v4/internal/version.version=v" + Helm4Version},
		cost:    "up to 2 minutes",
	}
}

// Kwok simulates thousands of nodes and pods.
func Kwok() Product {
	return Product{
		Name: "kwok", Version: KwokVersion, folder: "binaries/kwok", pkg: "sigs.k8s.io/kwok/cmd/kwok", binary: "kwok",
		copies: []copied{
			{"sigs.k8s.io/kwok", "kustomize/stage/node", "stage/node"},
			{"sigs.k8s.io/kwok", "kustomize/stage/pod", "stage/pod"},
		},
		cost: "up to 2 minutes",
	}
}

// CertManager is cert-manager's controller, cainjector and webhook in one file, with its chart.
func CertManager() Product {
	const module = "github.com/cert-manager/cert-manager"
	return Product{
		Name: "certmanager", Version: CertManagerVersion, folder: "binaries/certmanager", pkg: ".", binary: "certmanager",
		links:  []string{"controller", "cainjector", "webhook", "startupapicheck"},
		copies: []copied{{module, "deploy/charts/cert-manager", "chart"}, {module, "deploy/crds", "crds"}},
		cost:   "up to 4 minutes",
	}
}

// Flux is a command that reconciles manifests with Flux's engine.
func Flux() Product {
	return Product{Name: "flux", Version: FluxVersion, folder: "../gitops/flux", pkg: ".", binary: "flux",
		cost: "up to 2 minutes"}
}

// Argo is a command that reconciles manifests with Argo CD's engine.
func Argo() Product {
	return Product{Name: "argo", Version: ArgoVersion, folder: "../gitops/argo", pkg: ".", binary: "argo",
		cost: "up to 2 minutes"}
}

// Cilium is the LB IPAM of Cilium's operator, with the definitions of its resources.
func Cilium() Product {
	return Product{
		Name: "cilium", Version: CiliumVersion, folder: "../dataplane/foreign/cilium", pkg: ".", binary: "cilium",
		copies: []copied{{"github.com/cilium/cilium", "pkg/k8s/apis/cilium.io/client/crds/v2alpha1", "crds"}},
		cost:   "up to 4 minutes",
	}
}

// EnvoyGateway is the control plane of Envoy Gateway, an implementation of the Gateway API. Only `make long` needs it.
func EnvoyGateway() Product {
	return Product{
		Name: "envoygateway", Version: EnvoyGatewayVersion, folder: "../e2e/gatewayapi/envoygateway",
		pkg:    "github.com/envoyproxy/gateway/cmd/envoy-gateway",
		binary: "envoy-gateway", cost: "10 to 20 minutes on two cores",
	}
}

// ExternalDNS is a command that prints the records that external-dns wants. Only `make long` needs it.
func ExternalDNS() Product {
	return Product{
		Name: "externaldns", Version: ExternalDNSVersion, folder: "../e2e/reconciler/externaldns", pkg: ".",
		binary: "externaldns",
		cost:   "up to 5 minutes",
	}
}

// FormerExternalDNS is the same command with the last release that has the former default prefix of annotations.
func FormerExternalDNS() Product {
	p := ExternalDNS()
	p.Name, p.Version, p.modfile = "externaldns-former", FormerExternalDNSVersion, "v0.21.mod"
	return p
}

// Pod is the small program of test pods.
func Pod() Product {
	return Product{Name: "pod", Version: "0", folder: "pod", pkg: ".", binary: "pod", cost: "seconds"}
}

func (p Product) String() string {
	if p.Version == "0" {
		return p.Name
	}
	return p.Name + " " + p.Version
}
