package guard

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
)

const (
	// handshakeTimeout limits one connection, the handshake included. An API server waits 5 s for connection and review
	// together.
	handshakeTimeout = 3 * time.Second
	// retryPause is the time before a second try: a pod that ends drops its connections, and the next connection
	// reaches another pod.
	retryPause = time.Second
	// requestTimeout limits one request to the API server.
	requestTimeout = 5 * time.Second
)

// tryHandshake makes a handshake, and a second one if the first fails. The zero target is refused here: dialing its
// empty address would reach this machine.
func (g *Guard) tryHandshake(ctx context.Context, place target) handshake {
	if place == (target{}) {
		return handshake{err: errors.New("no API server could connect there")}
	}
	address, missing := g.address(ctx, place)
	if missing {
		return handshake{missing: true}
	}
	shook := g.tryHandshakeOnce(ctx, address, place.name())
	if shook.err == nil {
		return shook
	}
	select {
	case <-ctx.Done():
		return shook
	case <-time.After(retryPause):
		return g.tryHandshakeOnce(ctx, address, place.name())
	}
}

func (g *Guard) tryHandshakeOnce(ctx context.Context, address, name string) handshake {
	within, cancel := context.WithTimeout(ctx, handshakeTimeout)
	defer cancel()
	conn, err := g.options.Dial(within, "tcp", address)
	if err != nil {
		return handshake{err: plain(err)}
	}
	defer conn.Close()
	// No verification here: judgeServed verifies the certificate later, against the bundle of every entry, and again
	// when a bundle changes.
	secured := tls.Client(conn, &tls.Config{ServerName: name, InsecureSkipVerify: true, MinVersion: tls.VersionTLS12})
	if err := secured.HandshakeContext(within); err != nil {
		return handshake{err: plain(err)}
	}
	served := secured.ConnectionState().PeerCertificates
	if len(served) == 0 {
		return handshake{err: errors.New("it sent no certificate")}
	}
	return handshake{served: served}
}

// plain drops details that differ between tries, such as our own port, so that an unchanged fault isn't reported twice.
func plain(err error) error {
	var op *net.OpError
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return errors.New("no answer within " + handshakeTimeout.String())
	case errors.As(err, &op):
		return op.Err
	}
	return err
}

// address returns the address that API servers dial, and whether the Service is missing. They dial the Service's
// cluster IP, not its name. If the Service can't be read, its last known state is used.
func (g *Guard) address(ctx context.Context, place target) (string, bool) {
	port := strconv.Itoa(int(place.port))
	if place.service == "" {
		return net.JoinHostPort(place.host, port), false
	}
	within, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	var now corev1.Service
	err := g.options.Client.Get(within, types.NamespacedName{Namespace: place.namespace, Name: place.service}, &now)
	switch {
	case apierrors.IsNotFound(err):
		delete(g.services, place)
		return "", true
	case err == nil:
		g.services[place] = &now
	}
	host := place.name()
	if svc := g.services[place]; svc != nil {
		switch {
		case svc.Spec.Type == corev1.ServiceTypeExternalName:
			host = svc.Spec.ExternalName
		case svc.Spec.ClusterIP != "" && svc.Spec.ClusterIP != corev1.ClusterIPNone:
			host = svc.Spec.ClusterIP
		}
	}
	return net.JoinHostPort(host, port), false
}
