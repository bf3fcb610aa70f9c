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

// Clients admits the TLS clients whose certificate a CA has signed. The CA is a file, and Clients follows its changes. While a
// new content can't be used, the last good one holds.
type Clients struct {
	file     string
	names    []string
	interval time.Duration
	log      *zap.Logger

	pool    atomic.Pointer[x509.CertPool]
	failure atomic.Pointer[error] // of the last look; nil if it went well
	refused atomic.Bool           // a refused name was logged

	seen []byte // of the goroutine that looks
}

// NewClients admits certificates of the CA in the file. With names, a certificate needs one of them as its common name, or as
// a DNS name, URI, email or IP address. Interval is the time between two looks at the file.
func NewClients(file string, names []string, interval time.Duration, log *zap.Logger) *Clients {
	return &Clients{file: file, names: names, interval: interval, log: log}
}

// Run looks at the file until the context ends.
func (c *Clients) Run(ctx context.Context) {
	for {
		c.Look()
		if !wait(ctx, c.interval) {
			return
		}
	}
}

// Look reads the file once. It is not for several goroutines at once.
func (c *Clients) Look() {
	content, err := os.ReadFile(c.file)
	if err == nil && c.pool.Load() != nil && bytes.Equal(content, c.seen) {
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
			c.log.Error("mend the file; nothing needs a restart", zap.Bool("lastGoodHolds", c.pool.Load() != nil), zap.Error(err))
		}
		return
	}
	c.seen = content
	c.pool.Store(pool)
	c.failure.Store(nil)
	c.log.Info("clients' CA loaded", zap.String("file", c.file), zap.Strings("names", c.names))
}

func poolOf(content []byte) (*x509.CertPool, error) {
	pool := x509.NewCertPool()
	switch {
	case !whole(content):
		return nil, errors.New("it ends within a PEM block, or holds one that is damaged")
	case !pool.AppendCertsFromPEM(content):
		return nil, errors.New("it holds no certificate as PEM")
	}
	return pool, nil
}

// Ready is nil once a CA is loaded. Until then no client is admitted.
func (c *Clients) Ready() error {
	if c.pool.Load() != nil {
		return nil
	}
	if failure := c.failure.Load(); failure != nil {
		return *failure
	}
	return fmt.Errorf("the clients' CA %s is still being read", c.file)
}

// Remark says what is wrong with the file while the last good CA holds; empty if nothing is.
func (c *Clients) Remark() string {
	if failure := c.failure.Load(); failure != nil && c.pool.Load() != nil {
		return (*failure).Error()
	}
	return ""
}

// Require makes a server refuse all other clients in the handshake. It switches session tickets off: each new connection is
// checked against the CA of its time.
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

// verify checks the name of a certificate that the CA has signed.
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
	log("refused a client: its certificate is signed by the clients' CA, and none of its names is allowed (the first one is a "+
		"warning, later ones are at the level debug)", zap.Strings("names", has), zap.Strings("allowed", c.names))
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
