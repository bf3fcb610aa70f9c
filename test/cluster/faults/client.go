package faults

import (
	"fmt"
	"net"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
)

// Config returns the configuration of a client without credentials. The proxy gives it the upstream's credentials, or
// the user of As. Its token is the proxy's own and is never sent upstream. Client-side rate limits are off.
func (p *Proxy) Config() *rest.Config { return p.ConfigFor(p.pass) }

// ConfigFor returns the configuration of a client with its own token, for example a service account's. The proxy passes
// the token on unchanged. Each client gets its own Dial, and so its own connections: otherwise client-go shares
// connections among all clients of a process, and a restarted client would inherit the lost connections of its
// predecessor.
func (p *Proxy) ConfigFor(token string) *rest.Config {
	return &rest.Config{
		Host:            "https://" + p.address,
		BearerToken:     token,
		TLSClientConfig: rest.TLSClientConfig{CAData: p.caPEM},
		Dial:            (&net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
		QPS:             -1,
	}
}

// WriteKubeconfig writes a configuration of Config or ConfigFor to a file, for a client in another process.
func WriteKubeconfig(file string, config *rest.Config) error {
	const name = "faults"
	kubeconfig := api.NewConfig()
	kubeconfig.Clusters[name] = &api.Cluster{Server: config.Host, CertificateAuthorityData: config.CAData}
	kubeconfig.AuthInfos[name] = &api.AuthInfo{Token: config.BearerToken}
	kubeconfig.Contexts[name] = &api.Context{Cluster: name, AuthInfo: name}
	kubeconfig.CurrentContext = name
	if err := clientcmd.WriteToFile(*kubeconfig, file); err != nil {
		return fmt.Errorf("kubeconfig for %s: %w", config.Host, err)
	}
	return nil
}
