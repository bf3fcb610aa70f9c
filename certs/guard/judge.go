package guard

import (
	"crypto/x509"
	"errors"
	"fmt"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"

	"nowake.ai/svc-lb-mux/certs"
)

// blind is for how long an object may go unread, after it was read once, before that is a fault: an API server that is
// started anew is none.
const blind = 15 * time.Second

// judge says what is amiss, once every place was tried.
func judge(o *observation, now time.Time) Status {
	faults, notAfter := judgeConfiguration(o, now)
	for i := range o.certificates {
		faults = append(faults, judgeCertificate(&o.certificates[i], now)...)
	}
	if o.secret != nil {
		faults = append(faults, judgeSecret(o.secret, now)...)
	}
	if o.kept != nil {
		faults = append(faults, Fault{NotKept, "self-managed certificate", o.kept.Error()})
	}
	return statusOf(faults, notAfter)
}

// unread is the fault of what can't be read.
func (r *known) unread(now time.Time) []Fault {
	if r.err == nil || r.heard && now.Before(r.since.Add(blind)) {
		return nil
	}
	return []Fault{{Unreadable, r.String(), fmt.Sprintf("%s can't be read: %v; the chart's roles have the right to", r, r.err)}}
}

// judgeConfiguration also returns when the first of the certificates that are served expires.
func judgeConfiguration(o *observation, now time.Time) ([]Fault, time.Time) {
	r := &o.configuration
	faults := r.unread(now)
	if r.heard && r.object == nil {
		faults = append(faults, Fault{ConfigurationMissing, r.String(), fmt.Sprintf(
			"%s isn't there, so that nobody is asked about muxes and channels: helm upgrade puts it back", r)})
	}
	var notAfter time.Time
	entries := o.entries()
	for i := range entries {
		place := targetOf(&entries[i].ClientConfig)
		shook := o.handshakes[place]
		faults = append(faults, judgeEntry(r, &entries[i], place, shook, now)...)
		if len(shook.served) > 0 && (notAfter.IsZero() || shook.served[0].NotAfter.Before(notAfter)) {
			notAfter = shook.served[0].NotAfter
		}
	}
	return faults, notAfter
}

func judgeEntry(r *known, entry *admissionregistrationv1.ValidatingWebhook, place target, shook handshake, now time.Time) []Fault {
	roots := x509.NewCertPool()
	trusts := roots.AppendCertsFromPEM(entry.ClientConfig.CABundle)
	if !trusts && place.service == "" && len(entry.ClientConfig.CABundle) == 0 {
		trusts, roots = true, nil // a URL without a bundle goes by what the machine trusts
	}
	var faults []Fault
	if !trusts {
		faults = append(faults, Fault{NoCABundle, r.String(), fmt.Sprintf("%s, webhook %s: clientConfig.caBundle has no certificate, "+
			"so that no API server trusts the webhook: whoever keeps it (cert-manager's cainjector, the leading reconciler, or the "+
			"chart's webhook.caBundle, by certs.mode) must write it", r, entry.Name)})
	}
	switch {
	case place == target{}:
		return append(faults, Fault{NotReachable, r.String(), fmt.Sprintf("%s, webhook %s: clientConfig names nobody that an API server "+
			"could ask: helm upgrade puts it back", r, entry.Name)})
	case shook.missing:
		return append(faults, Fault{ServiceMissing, place.String(), fmt.Sprintf("%s isn't there, and %s has the API server ask it: "+
			"helm upgrade puts it back", place, r)})
	case shook.err != nil:
		return append(faults, Fault{NotReachable, place.String(), fmt.Sprintf("%s doesn't answer with a certificate: %v; "+
			"are the webhook's pods running and ready?", place, shook.err)})
	case !trusts:
		return faults
	}
	return append(faults, judgeServed(place, roots, shook.served, now)...)
}

// judgeServed does what an API server will do with what was served.
func judgeServed(place target, roots *x509.CertPool, served []*x509.Certificate, now time.Time) []Fault {
	leaf, between := served[0], x509.NewCertPool()
	for _, cert := range served[1:] {
		between.AddCert(cert)
	}
	_, err := leaf.Verify(x509.VerifyOptions{DNSName: place.name(), Roots: roots, Intermediates: between, CurrentTime: now})
	var invalid x509.CertificateInvalidError
	const renew = "it must be renewed by whoever keeps it; pods serve the new one without a restart"
	end := leaf.NotAfter.UTC().Format(time.RFC3339)
	switch {
	case now.After(leaf.NotAfter):
		return []Fault{{CertificateExpired, place.String(), fmt.Sprintf("%s serves a certificate that has expired at %s: %s", place, end, renew)}}
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return []Fault{{CertificateExpired, place.String(), fmt.Sprintf("%s serves a certificate of which a part, or what signed it, "+
			"has expired or isn't valid yet: %s", place, renew)}}
	case err != nil:
		return []Fault{{NotTrusted, place.String(), fmt.Sprintf("%s serves a certificate that its API servers refuse: %v; CA bundle and "+
			"certificate must come from the same authority", place, err)}}
	case certs.EndsSoon(leaf, now):
		return []Fault{{ExpiresSoon, place.String(), fmt.Sprintf("%s serves a certificate that expires at %s, and wasn't renewed in "+
			"time: %s", place, end, renew)}}
	}
	return nil
}

func judgeSecret(r *known, now time.Time) []Fault {
	faults := r.unread(now)
	if r.heard && r.object == nil {
		faults = append(faults, Fault{SecretMissing, r.String(), fmt.Sprintf(
			"%s isn't there, and new pods of the webhook wait for it: the leading reconciler makes it anew", r)})
	}
	return faults
}
