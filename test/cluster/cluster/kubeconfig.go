package cluster

import (
	"fmt"
	"path/filepath"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
)

// apiURL returns the API server's URL for programs inside of the cluster.
func apiURL() string { return fmt.Sprintf("https://%s:%d", controlPlaneIP, apiPort) }

// kubeconfig writes a kubeconfig that names its certificate files.
func (p *pki) kubeconfig(name, server string) (string, error) {
	path := filepath.Join(p.dir, name+".kubeconfig")
	config := api.NewConfig()
	config.Clusters["test"] = &api.Cluster{Server: server, CertificateAuthority: p.crt("ca")}
	config.AuthInfos[name] = &api.AuthInfo{ClientCertificate: p.crt(name), ClientKey: p.pem(name)}
	config.Contexts["test"] = &api.Context{Cluster: "test", AuthInfo: name}
	config.CurrentContext = "test"
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		return "", fmt.Errorf("write a kubeconfig for %s: %w", name, err)
	}
	return path, nil
}

// restConfig returns a configuration for clients in this process. They dial from inside of the cluster, without a rate
// limit.
func (c *Cluster) restConfig(name string) *rest.Config {
	return &rest.Config{
		Host: apiURL(),
		Dial: c.Host.Dialer(""),
		QPS:  -1,
		TLSClientConfig: rest.TLSClientConfig{
			CAFile: c.pki.crt("ca"), CertFile: c.pki.crt(name), KeyFile: c.pki.pem(name),
		},
	}
}
