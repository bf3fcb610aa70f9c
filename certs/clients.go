package certs

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"go.uber.org/zap"
)

// Clients admits the TLS clients whose certificate a CA has signed. It reads the CA from a file and follows the file's
// changes. While the new content can't be used, the last good CA stays in use.
type Clients struct {
	file     string
	names    []string
	interval time.Duration
	log      *zap.Logger

	pool    atomic.Pointer[x509.CertPool]
	failure atomic.Pointer[error] // of the last read of the file; nil if it succeeded
	refused atomic.Bool           // true once a refused name was logged

	loaded []byte // content of the file at the last good read; only Look uses it
}

// NewClients admits certificates of the CA in the file. If there are names, a certificate needs one of them: as its
// common name, or as a DNS name, URI, email or IP address. Interval is the time between two reads of the file.
func NewClients(file string, names []string, interval time.Duration, log *zap.Logger) *Clients {
	return &Clients{file: file, names: names, interval: interval, log: log}
}

// Run calls Look at each interval until the context ends.
func (c *Clients) Run(ctx context.Context) {
	for {
		c.Look()
		if !wait(ctx, c.interval) {
			return
		}
	}
}

// Look reads the file once. It isn't safe for concurrent use.
func (c *Clients) Look() {
	content, err := os.ReadFile(c.file)
	if err == nil && c.pool.Load() != nil && bytes.Equal(content, c.loaded) {
		c.failure.Store(nil)
		return
	}
	var pool *x509.CertPool
	if err == nil {
		pool, err = poolOf(content)
	}
	if err != nil {
		err = fmt.Errorf("the clients' CA %s can't be used: %w", c.file, err)
		if before := c.failure.Swap(&err); before == nil || (*before).Error() != err.Error() {
			c.log.Error("clients' CA: the file can't be used; fix it, no restart is needed",
				zap.Bool("lastGoodInUse", c.pool.Load() != nil), zap.Error(err))
		}
		return
	}
	c.loaded = content
	c.pool.Store(pool)
	c.failure.Store(nil)
	c.log.Info("clients' CA loaded", zap.String("file", c.file), zap.Strings("names", c.names))
}

func poolOf(content []byte) (*x509.CertPool, error) {
	pool := x509.NewCertPool()
	switch {
	case !hasWholeBlocks(content):
		return nil, errors.New("it ends within a PEM block, or a PEM block is damaged")
	case !pool.AppendCertsFromPEM(content):
		return nil, errors.New("it holds no certificate in PEM format")
	}
	return pool, nil
}

// Ready returns nil once a CA is loaded. Until then no client is admitted.
func (c *Clients) Ready() error {
	if c.pool.Load() != nil {
		return nil
	}
	if failure := c.failure.Load(); failure != nil {
		return *failure
	}
	return fmt.Errorf("the clients' CA %s wasn't read yet", c.file)
}

// Remark returns the fault of the file while the last good CA stays in use. It is empty without a fault.
func (c *Clients) Remark() string {
	if failure := c.failure.Load(); failure != nil && c.pool.Load() != nil {
		return (*failure).Error()
	}
	return ""
}

// Require makes a server refuse all other clients in the TLS handshake. It switches session tickets off, so that each
// new connection is checked against the current CA.
func (c *Clients) Require(config *tls.Config) {
	base := config.Clone()
	base.ClientAuth, base.SessionTicketsDisabled, base.VerifyConnection = tls.RequireAndVerifyClientCert, true, c.verify
	config.ClientAuth = tls.RequireAndVerifyClientCert
	config.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) {
		pool := c.pool.Load()
		if pool == nil {
			return nil, c.Ready()
		}
		current := base.Clone()
		current.ClientCAs = pool
		return current, nil
	}
}

// verify checks that a certificate, already known to be signed by the CA, has an allowed name.
func (c *Clients) verify(state tls.ConnectionState) error {
	if len(c.names) == 0 {
		return nil
	}
	if len(state.PeerCertificates) == 0 {
		return errors.New("the client has no certificate")
	}
	has := clientNames(state.PeerCertificates[0])
	if slices.ContainsFunc(has, func(name string) bool { return slices.Contains(c.names, name) }) {
		return nil
	}
	log := c.log.Debug
	if c.refused.CompareAndSwap(false, true) {
		log = c.log.Warn
	}
	log("refused a client: its certificate is signed by the clients' CA, and none of its names is allowed (the first "+
		"one is a warning, later ones are at the level debug)", zap.Strings("names", has), zap.Strings("allowed", c.names))
	return fmt.Errorf("a certificate for %q isn't allowed here", strings.Join(has, ", "))
}

func clientNames(cert *x509.Certificate) []string {
	names := slices.Concat(cert.DNSNames, cert.EmailAddresses)
	if cert.Subject.CommonName != "" {
		names = append(names, cert.Subject.CommonName)
	}
	for _, uri := range cert.URIs {
		names = append(names, uri.String())
	}
	for _, ip := range cert.IPAddresses {
		names = append(names, ip.String())
	}
	return names
}
