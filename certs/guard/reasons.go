package guard

// Reason is why admission isn't on guard, or may soon be off guard. It appears in Events, as a metric's label, and in
// /readyz.
type Reason string

// These take admission off guard: while such a fault lasts, API servers refuse changes of muxes and channels. Two
// reasons are exceptions. With ConfigurationMissing, changes pass unchecked. With Unreadable, admission may work, but
// the guard can't know.
const (
	// ConfigurationMissing says that the ValidatingWebhookConfiguration is gone, so the API server calls no webhook.
	ConfigurationMissing Reason = "ConfigurationMissing"
	// NoCABundle says that an entry of the configuration has no CA bundle, or a bundle without a certificate.
	NoCABundle Reason = "NoCABundle"
	// ServiceMissing says that the Service named by the configuration doesn't exist.
	ServiceMissing Reason = "ServiceMissing"
	// NotReachable says that the endpoint doesn't answer, that its answer carries no certificate, or that the
	// configuration names no endpoint.
	NotReachable Reason = "NotReachable"
	// NotTrusted says that no CA of the bundle has signed the served certificate, or that the certificate is for other
	// names.
	NotTrusted Reason = "NotTrusted"
	// CertificateExpired says that the served certificate, or the certificate of its CA, has expired or isn't valid yet.
	CertificateExpired Reason = "CertificateExpired"
	// Unreadable says that a needed object can't be read from the API server.
	Unreadable Reason = "Unreadable"
)

// These say that the certificate isn't kept up to date, though the served one may still be good.
const (
	// CertManagerMissing says that the API server doesn't know cert-manager's kinds.
	CertManagerMissing Reason = "CertManagerMissing"
	// CertificateMissing says that a cert-manager Certificate doesn't exist.
	CertificateMissing Reason = "CertificateMissing"
	// CertificateNotReady says that a cert-manager Certificate isn't ready.
	CertificateNotReady Reason = "CertificateNotReady"
	// IssuerMissing says that the Issuer of a Certificate doesn't exist.
	IssuerMissing Reason = "IssuerMissing"
	// SecretMissing says that the certificate's Secret doesn't exist. A new pod of the webhook can't start without it.
	SecretMissing Reason = "SecretMissing"
	// NotKept says that the self-managed certificate, or its bundle, can't be written.
	NotKept Reason = "NotKept"
)

// ExpiresSoon says that the served certificate expires soon and wasn't renewed in time. It is the only reason that
// leaves the process ready.
const ExpiresSoon Reason = "ExpiresSoon"

// OnGuard is the reason of the Event after the last fault has gone.
const OnGuard Reason = "AdmissionOnGuard"

// Reasons returns all reasons of faults, in the order in which faults are reported.
func Reasons() []Reason {
	return []Reason{
		ConfigurationMissing, NoCABundle, ServiceMissing, NotReachable, NotTrusted, CertificateExpired, Unreadable,
		CertManagerMissing, CertificateMissing, CertificateNotReady, IssuerMissing, SecretMissing, NotKept,
		ExpiresSoon,
	}
}

// offGuard says that a fault of this reason takes admission off guard.
func (r Reason) offGuard() bool {
	switch r {
	case ConfigurationMissing, NoCABundle, ServiceMissing, NotReachable, NotTrusted, CertificateExpired, Unreadable:
		return true
	}
	return false
}
