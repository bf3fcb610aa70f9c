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
	// reach is for one connection, the handshake included. API servers wait for 5 s, review and all.
	reach = 3 * time.Second
	// pause is before a second try: a pod that ends takes connections down with it, and the next one finds another pod.
	pause = time.Second
	// ask is for one request to the API server.
	ask = 5 * time.Second
)

// shake does it twice if it must. At the zero target there is nobody: whoever answers there would be this machine.
func (g *Guard) shake(ctx context.Context, place target) handshake {
	if place == (target{}) {
		return handshake{err: errors.New("no API server could ask there")}
	}
	address, missing := g.address(ctx, place)
	if missing {
		return handshake{missing: true}
	}
	shook := g.shakeOnce(ctx, address, place.name())
	if shook.err == nil {
		return shook
	}
	select {
	case <-ctx.Done():
		return shook
	case <-time.After(pause):
		return g.shakeOnce(ctx, address, place.name())
	}
}

func (g *Guard) shakeOnce(ctx context.Context, address, name string) handshake {
	within, cancel := context.WithTimeout(ctx, reach)
	defer cancel()
	conn, err := g.options.Dial(within, "tcp", address)
	if err != nil {
		return handshake{err: plain(err)}
	}
	defer conn.Close()
	// What is served is judged later, against every bundle, and again when a bundle changes.
	secured := tls.Client(conn, &tls.Config{ServerName: name, InsecureSkipVerify: true, MinVersion: tls.VersionTLS12})
	if err := secured.HandshakeContext(within); err != nil {
		return handshake{err: plain(err)}
	}
	served := secured.ConnectionState().PeerCertificates
	if len(served) == 0 {
		return handshake{err: errors.New("it has none")}
	}
	return handshake{served: served}
}

// plain leaves out what differs from try to try, such as our own port.
func plain(err error) error {
	var op *net.OpError
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return errors.New("no answer within " + reach.String())
	case errors.As(err, &op):
		return op.Err
	}
	return err
}

// address is where API servers go: to the Service's own address, not by its name. If the Service can't be read, the last
// known one is as good.
func (g *Guard) address(ctx context.Context, place target) (string, bool) {
	port := strconv.Itoa(int(place.port))
	if place.service == "" {
		return net.JoinHostPort(place.host, port), false
	}
	within, cancel := context.WithTimeout(ctx, ask)
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
