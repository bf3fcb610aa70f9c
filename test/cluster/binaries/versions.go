package binaries

import (
	"fmt"
	"os"
	"strings"
)

// DefaultKubernetes is the version that is built unless K8S_VERSION is set.
const DefaultKubernetes = "1.37.2"

// kubernetesModfiles maps the available Kubernetes versions to the modfiles that pin them. To add a version, add its
// modfile and its line.
var kubernetesModfiles = []struct{ version, modfile string }{
	{"1.33.13", "v1.33.mod"},
	{"1.34.4", "v1.34.mod"},
	{"1.35.4", "v1.35.mod"},
	{"1.36.3", "v1.36.mod"},
	{DefaultKubernetes, "go.mod"},
}

// Versions of everything else. The go.mod in each folder pins the version, and a test compares the two.
const (
	Helm3Version       = "3.22.0"
	Helm4Version       = "4.3.1"
	KwokVersion        = "0.8.0"
	CertManagerVersion = "1.21.2"
	FluxVersion        = "0.78.0"                            // of github.com/fluxcd/pkg/ssa
	ArgoVersion        = "0.0.0-20260914071520-c9c369efcc5b" // of Argo CD's gitops-engine, which has no other versions
	CiliumVersion      = "1.15.19"

	EnvoyGatewayVersion = "1.9.1"

	// The last release with the former default prefix of annotations, and the first with the current one.
	FormerExternalDNSVersion = "0.21.0"
	ExternalDNSVersion       = "0.22.0"
)

// KubernetesVersion returns the version that K8S_VERSION selects.
func KubernetesVersion() (string, error) {
	version := os.Getenv("K8S_VERSION")
	if version == "" {
		return DefaultKubernetes, nil
	}
	version = strings.TrimPrefix(version, "v")
	known := make([]string, 0, len(kubernetesModfiles))
	for _, k := range kubernetesModfiles {
		if k.version == version {
			return version, nil
		}
		known = append(known, k.version)
	}
	return "", fmt.Errorf("K8S_VERSION=%q can't be built here: choose one of %s, or leave it unset for %s",
		version, strings.Join(known, ", "), DefaultKubernetes)
}

func modfileOf(version string) string {
	for _, k := range kubernetesModfiles {
		if k.version == version {
			return k.modfile
		}
	}
	return ""
}
