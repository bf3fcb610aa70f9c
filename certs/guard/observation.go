package guard

import (
	"cmp"
	"crypto/x509"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nowake.ai/svc-lb-mux/certs/follow"
)

// observation is the input of judge.
type observation struct {
	configuration known
	// handshakes are the results by endpoint of the configuration. An endpoint that isn't in the map wasn't tried yet.
	handshakes map[target]handshake
	// certificates are the states of cert-manager's Certificates.
	certificates []certificate
	// secret is the self-managed Secret, or nil in another mode. kept is why the self-managed certificate can't be kept
	// up to date.
	secret *known
	kept   error
}

// known is the last known state of an object: its content or its absence, and since when it can't be read.
type known struct {
	kind, name string
	object     client.Object // nil if it doesn't exist
	heard      bool          // it was read at least once, or found missing
	err        error
	since      time.Time // when err began
}

func (r *known) update(news follow.News, now time.Time) {
	if news.Err == nil {
		r.object, r.heard, r.err = news.Object, true, nil
		return
	}
	if r.err == nil {
		r.since = now
	}
	r.err = news.Err
}

func (r *known) String() string { return r.kind + " " + r.name }

// certificate is the state of a cert-manager Certificate. issuerLost is true if its Issuer is missing. It is false if
// we may not read the Issuer.
type certificate struct {
	known
	issuerLost bool
}

// target is the endpoint that an API server calls: a Service or a URL.
type target struct {
	namespace, service string // empty for a URL
	host               string // for a URL
	port               int32
}

const https = 443

// targetOf returns the endpoint of an entry, or the zero target if no API server could call it. An endpoint without a
// host name must not pass: verification against an empty name accepts a certificate for any name.
func targetOf(config *admissionregistrationv1.WebhookClientConfig) target {
	var place target
	switch service := config.Service; {
	case service != nil && service.Name != "" && service.Namespace != "":
		place = target{namespace: service.Namespace, service: service.Name, port: ptr.Deref(service.Port, https)}
	case service == nil && config.URL != nil:
		place = targetOfURL(*config.URL)
	}
	if place.port < 1 || place.port > 65535 {
		return target{}
	}
	return place
}

func targetOfURL(text string) target {
	address, err := url.Parse(text)
	if err != nil || address.Scheme != "https" || address.Hostname() == "" {
		return target{}
	}
	port, err := strconv.ParseInt(cmp.Or(address.Port(), strconv.Itoa(https)), 10, 32)
	if err != nil {
		return target{}
	}
	return target{host: address.Hostname(), port: int32(port)}
}

// name returns the name that the certificate must be valid for.
func (t target) name() string {
	if t.service == "" {
		return t.host
	}
	return t.service + "." + t.namespace + ".svc"
}

func (t target) String() string {
	if t.service == "" {
		return net.JoinHostPort(t.host, strconv.Itoa(int(t.port)))
	}
	return fmt.Sprintf("Service %s/%s, port %d", t.namespace, t.service, t.port)
}

// handshake is the result of one handshake: the served certificates, or an error.
type handshake struct {
	served  []*x509.Certificate
	missing bool // the Service doesn't exist
	err     error
}

// entries returns the configuration's webhooks; none before the configuration was read.
func (o *observation) entries() []admissionregistrationv1.ValidatingWebhook {
	configuration, ok := o.configuration.object.(*admissionregistrationv1.ValidatingWebhookConfiguration)
	if !ok {
		return nil
	}
	return configuration.Webhooks
}

// tried says that a handshake with every endpoint of the configuration was tried.
func (o *observation) tried() bool {
	entries := o.entries()
	for i := range entries {
		if _, done := o.handshakes[targetOf(&entries[i].ClientConfig)]; !done {
			return false
		}
	}
	return true
}
