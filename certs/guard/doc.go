// Package guard checks whether admission is on guard: whether an API server that calls the webhook reaches it and
// trusts its certificate.
//
//	observe  the configuration, the status of cert-manager's Certificates, and a handshake with the webhook's Service
//	judge    the faults, each with a reason and a way out                   PURE
//	emit     Events on the webhook's Service, for new faults only; metrics and readiness show the present faults
//
// The handshake decides: it uses the same name and the same CA bundle as the API server. cert-manager's status adds
// warnings of faults that will break the handshake later. This package only reports faults; it repairs nothing.
package guard
