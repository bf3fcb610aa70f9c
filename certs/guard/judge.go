package guard

import (
	"crypto/x509"
	"errors"
	"fmt"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"

	"nowake.ai/svc-lb-mux/certs"
)

// unreadGrace is how long reads of an object may fail without a fault, if a read succeeded before. So a restart of the
// API server is no fault.
const unreadGrace = 15 * time.Second

// judge returns all faults. The caller has tried a handshake with every endpoint.
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

// unreadableFaults returns a fault if the object can't be read.
func (r *known) unreadableFaults(now time.Time) []Fault {
	if r.err == nil || r.heard && now.Before(r.since.Add(unreadGrace)) {
		return nil
	}
	return []Fault{{Unreadable, r.String(),
		fmt.Sprintf("%s can't be read: %v; the chart's roles grant this right", r, r.err)}}
}

// judgeConfiguration returns the faults of the configuration and its endpoints, and the earliest expiry of the served
// certificates.
func judgeConfiguration(o *observation, now time.Time) ([]Fault, time.Time) {
	r := &o.configuration
	faults := r.unreadableFaults(now)
	if r.heard && r.object == nil {
		faults = append(faults, Fault{ConfigurationMissing, r.String(), fmt.Sprintf(
			"%s isn't there, so that the API server doesn't ask the webhook about muxes and channels: "+
				"helm upgrade creates it again", r)})
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

func judgeEntry(r *known, entry *admissionregistrationv1.ValidatingWebhook, place target, shook handshake,
	now time.Time) []Fault {
	roots := x509.NewCertPool()
	trusts := roots.AppendCertsFromPEM(entry.ClientConfig.CABundle)
	if !trusts && place.service == "" && len(entry.ClientConfig.CABundle) == 0 {
		trusts, roots = true, nil // for a URL without a bundle, API servers trust the system's CAs
	}
	var faults []Fault
	if !trusts {
		faults = append(faults, Fault{NoCABundle, r.String(), fmt.Sprintf("%s, webhook %s: clientConfig.caBundle has no "+
			"certificate, so that no API server trusts the webhook: depending on certs.mode, cert-manager's cainjector, the "+
			"leading reconciler, or the chart's value certs.provided.caBundle must provide it", r, entry.Name)})
	}
	switch {
	case place == target{}:
		return append(faults, Fault{NotReachable, r.String(), fmt.Sprintf("%s, webhook %s: clientConfig names no Service "+
			"or URL that an API server could call: helm upgrade corrects it", r, entry.Name)})
	case shook.missing:
		return append(faults, Fault{ServiceMissing, place.String(), fmt.Sprintf("%s isn't there, and %s tells the API "+
			"server to call it: helm upgrade creates it again", place, r)})
	case shook.err != nil:
		return append(faults, Fault{NotReachable, place.String(), fmt.Sprintf("%s doesn't answer with a certificate: %v; "+
			"are the webhook's pods running and ready?", place, shook.err)})
	case !trusts:
		return faults
	}
	return append(faults, judgeServed(place, roots, shook.served, now)...)
}

// judgeServed verifies the served certificate as an API server does.
func judgeServed(place target, roots *x509.CertPool, served []*x509.Certificate, now time.Time) []Fault {
	leaf, between := served[0], x509.NewCertPool()
	for _, cert := range served[1:] {
		between.AddCert(cert)
	}
	_, err := leaf.Verify(x509.VerifyOptions{DNSName: place.name(), Roots: roots, Intermediates: between,
		CurrentTime: now})
	var invalid x509.CertificateInvalidError
	const renew = "renew it, or repair what renews it; pods serve the new one without a restart"
	end := leaf.NotAfter.UTC().Format(time.RFC3339)
	switch {
	case now.After(leaf.NotAfter):
		return []Fault{{CertificateExpired, place.String(),
			fmt.Sprintf("%s serves a certificate that has expired at %s: %s", place, end, renew)}}
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return []Fault{{CertificateExpired, place.String(), fmt.Sprintf("%s serves a certificate that isn't valid yet, or "+
			"one of its CAs has expired or isn't valid yet: %s", place, renew)}}
	case err != nil:
		return []Fault{{NotTrusted, place.String(), fmt.Sprintf("%s serves a certificate that API servers refuse: %v; CA "+
			"bundle and certificate must come from the same authority", place, err)}}
	case certs.EndsSoon(leaf, now):
		return []Fault{{ExpiresSoon, place.String(), fmt.Sprintf("%s serves a certificate that expires at %s, and wasn't "+
			"renewed in time: %s", place, end, renew)}}
	}
	return nil
}

func judgeSecret(r *known, now time.Time) []Fault {
	faults := r.unreadableFaults(now)
	if r.heard && r.object == nil {
		faults = append(faults, Fault{SecretMissing, r.String(), fmt.Sprintf(
			"%s isn't there, and new pods of the webhook wait for it: the leading reconciler makes it again", r)})
	}
	return faults
}
