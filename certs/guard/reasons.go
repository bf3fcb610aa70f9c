package guard

// Reason is why admission isn't on guard, or won't stay so: in Events, as a metric's label, and in /readyz.
type Reason string

// These take admission off guard: while one lasts, muxes and channels can't be changed (but for ConfigurationMissing:
// then they can be, and nobody looks).
const (
	// ConfigurationMissing says that the API server isn't told to ask anybody.
	ConfigurationMissing Reason = "ConfigurationMissing"
	// NoCABundle says that an entry of the configuration has no CA bundle, or one without a certificate in it.
	NoCABundle Reason = "NoCABundle"
	// ServiceMissing says that the Service which the configuration names isn't there.
	ServiceMissing Reason = "ServiceMissing"
	// NotReachable says that nobody answers at the Service, or nobody with a certificate.
	NotReachable Reason = "NotReachable"
	// NotTrusted says that the certificate served isn't signed by the bundle, or is for other names.
	NotTrusted Reason = "NotTrusted"
	// CertificateExpired says that the certificate served, or one that signed it, is past its end.
	CertificateExpired Reason = "CertificateExpired"
	// Unreadable says that the API server doesn't tell what has to be known.
	Unreadable Reason = "Unreadable"
)

// These say that the certificate isn't looked after, though what is served may still be good.
const (
	// CertManagerMissing says that the API server doesn't know cert-manager's kinds.
	CertManagerMissing Reason = "CertManagerMissing"
	// CertificateMissing says that a cert-manager Certificate isn't there.
	CertificateMissing Reason = "CertificateMissing"
	// CertificateNotReady says that a cert-manager Certificate isn't ready.
	CertificateNotReady Reason = "CertificateNotReady"
	// IssuerMissing says that the Issuer which such a Certificate names isn't there.
	IssuerMissing Reason = "IssuerMissing"
	// SecretMissing says that the Secret isn't there which a new pod of the webhook would need to start.
	SecretMissing Reason = "SecretMissing"
	// NotKept says that the self-managed certificate, or its bundle, can't be written.
	NotKept Reason = "NotKept"
)

// ExpiresSoon says that the certificate served is near its end and wasn't renewed in time. It alone leaves the process
// ready.
const ExpiresSoon Reason = "ExpiresSoon"

// OnGuard is the reason of the Event that says that all is well again.
const OnGuard Reason = "AdmissionOnGuard"

// Reasons are all that a fault can have.
func Reasons() []Reason {
	return []Reason{
		ConfigurationMissing, NoCABundle, ServiceMissing, NotReachable, NotTrusted, CertificateExpired, Unreadable,
		CertManagerMissing, CertificateMissing, CertificateNotReady, IssuerMissing, SecretMissing, NotKept,
		ExpiresSoon,
	}
}

// offGuard is true if, with it, an API server doesn't get an answer from the webhook.
func (r Reason) offGuard() bool {
	switch r {
	case ConfigurationMissing, NoCABundle, ServiceMissing, NotReachable, NotTrusted, CertificateExpired, Unreadable:
		return true
	}
	return false
}
