package kube

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"nowake.ai/svc-lb-mux/cmd/svcmux/cli"
)

// forbidden is an answer of the API server that the user lacks a right.
type forbidden struct{ text string }

func (f forbidden) Error() string { return f.text }

// IsForbidden says that the user lacks a right.
func IsForbidden(err error) bool {
	var refused forbidden
	return errors.As(err, &refused)
}

func isMissing(err error) bool { return apierrors.IsNotFound(err) }

// explain turns an error of the client into a sentence with the way out.
func (c *Cluster) explain(err error) error {
	var sent *url.Error
	switch {
	case errors.Is(err, context.Canceled):
		return errors.New("interrupted")
	case apierrors.IsUnauthorized(err):
		return fmt.Errorf("the API server %s doesn't accept the credentials of context %s: "+
			"log in again, or choose another --context",
			c.Server, cli.Shown(c.Context))
	case apierrors.IsForbidden(err):
		return forbidden{err.Error() + ": ask for this right, or choose another namespace with -n"}
	case errors.As(err, &sent):
		return c.unreachable(sent.Err)
	}
	return fmt.Errorf("the API server %s answers: %w: try again, or choose another --context", c.Server, err)
}

func (c *Cluster) unreachable(why error) error {
	var (
		issuer  x509.UnknownAuthorityError
		name    x509.HostnameError
		invalid x509.CertificateInvalidError
	)
	if errors.As(why, &issuer) || errors.As(why, &name) || errors.As(why, &invalid) {
		return fmt.Errorf("the certificate of the API server %s isn't trusted: %w: correct the cluster of context %s in "+
			"the kubeconfig",
			c.Server, why, cli.Shown(c.Context))
	}
	if errors.Is(why, context.DeadlineExceeded) {
		why = errors.New("no answer in time")
	}
	return fmt.Errorf("the API server %s can't be reached: %w: is it up, and is %s?", c.Server, why, c.rightOne())
}

// rightOne asks whether the user chose the right cluster.
func (c *Cluster) rightOne() string {
	if c.Context == "" {
		return "it the right --server"
	}
	return cli.Shown(c.Context) + " the right --context"
}
