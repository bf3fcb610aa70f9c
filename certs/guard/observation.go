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

// observation is all that a judgement is made from.
type observation struct {
	configuration known
	// handshakes are those with each place that an entry of the configuration names; a place that isn't in there hasn't
	// been tried yet.
	handshakes map[target]handshake
	// certificates are cert-manager's.
	certificates []certificate
	// secret is the self-managed one, nil if there is none to be; kept is what hinders its keeper.
	secret *known
	kept   error
}

// known is what is known of an object: how it is, or that it isn't there, or since when it can't be read.
type known struct {
	kind, name string
	object     client.Object // nil if it isn't there
	heard      bool          // the API server has told of it at least once
	err        error
	since      time.Time // of err
}

func (r *known) hear(news follow.News, now time.Time) {
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

// certificate is one of cert-manager's. issuerLost is true if its Issuer isn't there, as far as that may be asked.
type certificate struct {
	known
	issuerLost bool
}

// target is where, and by which name, an API server asks.
type target struct {
	namespace, service string // empty for a URL
	host               string // of a URL
	port               int32
}

const https = 443

// targetOf is the zero target for what no API server could ask. One without a name must not get through: a certificate
// that is for no name in particular is any.
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

// name is what the certificate must be for.
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

// handshake is what came of one: the certificates that were served, or why there are none.
type handshake struct {
	served  []*x509.Certificate
	missing bool // there is no such Service
	err     error
}

// entries are those of the configuration; none if it isn't known.
func (o *observation) entries() []admissionregistrationv1.ValidatingWebhook {
	configuration, ok := o.configuration.object.(*admissionregistrationv1.ValidatingWebhookConfiguration)
	if !ok {
		return nil
	}
	return configuration.Webhooks
}

// tried is false while there is a place of which it isn't known what a handshake comes to.
func (o *observation) tried() bool {
	entries := o.entries()
	for i := range entries {
		if _, done := o.handshakes[targetOf(&entries[i].ClientConfig)]; !done {
			return false
		}
	}
	return true
}
