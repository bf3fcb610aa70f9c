package faults

import (
	"fmt"
	"net"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
)

// Config leads a client without credentials to the proxy, which lends it the upstream's, or the user of As. The
// token in it is the proxy's own and never leaves it. Client-side rate limits are off.
func (p *Proxy) Config() *rest.Config { return p.ConfigFor(p.pass) }

// ConfigFor leads a client with a token of its own, a service account's, to the proxy, which passes it on untouched.
// Each client gets connections of its own, by a Dial of its own: else client-go shares them among all clients of a
// process, and one that is started again would inherit those that its dead predecessor lost.
func (p *Proxy) ConfigFor(token string) *rest.Config {
	return &rest.Config{
		Host:            "https://" + p.address,
		BearerToken:     token,
		TLSClientConfig: rest.TLSClientConfig{CAData: p.caPEM},
		Dial:            (&net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
		QPS:             -1,
	}
}

// WriteKubeconfig writes one of the above to a file, for a client in a process of its own.
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
