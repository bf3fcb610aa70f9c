package cluster

import (
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"sync"

	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
)

// Kubeconfig writes an administrator's kubeconfig for programs outside of the cluster. They reach the API server
// through a port on this machine's loopback while this process runs.
func (c *Cluster) Kubeconfig() (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("open a port for the API server: %w", err)
	}
	c.closers = append(c.closers, listener.Close)
	go c.forward(listener)
	config := api.NewConfig()
	config.Clusters["svc-lb-mux-test"] = &api.Cluster{Server: "https://" + listener.Addr().String()}
	config.AuthInfos["admin"] = &api.AuthInfo{}
	config.Contexts["svc-lb-mux-test"] = &api.Context{Cluster: "svc-lb-mux-test", AuthInfo: "admin"}
	config.CurrentContext = "svc-lb-mux-test"
	// Embed the data instead of file names, so that a copy of the file works, too.
	for file, into := range map[string]*[]byte{
		c.pki.crt("ca"):    &config.Clusters["svc-lb-mux-test"].CertificateAuthorityData,
		c.pki.crt("admin"): &config.AuthInfos["admin"].ClientCertificateData,
		c.pki.pem("admin"): &config.AuthInfos["admin"].ClientKeyData,
	} {
		if *into, err = os.ReadFile(file); err != nil {
			return "", err
		}
	}
	path := filepath.Join(c.Host.Dir, "kubeconfig")
	return path, clientcmd.WriteToFile(*config, path)
}

func (c *Cluster) forward(listener net.Listener) {
	for {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		go c.splice(conn)
	}
}

func (c *Cluster) splice(outer net.Conn) {
	defer outer.Close()
	inner, err := c.Host.Dialer("")(c.background, "tcp", net.JoinHostPort(controlPlaneIP, fmt.Sprint(apiPort)))
	if err != nil {
		return
	}
	defer inner.Close()
	var both sync.WaitGroup
	both.Go(func() { _, _ = io.Copy(inner, outer); closeWrite(inner) })
	both.Go(func() { _, _ = io.Copy(outer, inner); closeWrite(outer) })
	both.Wait()
}

// closeWrite closes the write side. The other direction stays open.
func closeWrite(conn net.Conn) {
	if half, ok := conn.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
	}
}

// BinDir returns the folder with kubectl and every other program of the cluster, each under its own name.
func (c *Cluster) BinDir() string { return filepath.Join(c.Host.Dir, "bin") }

func (c *Cluster) linkPrograms() error {
	if err := os.Mkdir(c.BinDir(), 0o700); err != nil {
		return err
	}
	for _, dir := range c.bin {
		entries, err := os.ReadDir(dir)
		if err != nil {
			return err
		}
		for _, entry := range entries {
			if entry.IsDir() {
				continue
			}
			if err := os.Symlink(filepath.Join(dir, entry.Name()), filepath.Join(c.BinDir(), entry.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}
