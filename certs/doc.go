// Package certs keeps the serving certificate: where it comes from, which one is served now, and how long it lasts.
//
// Files serves a pair of files and follows them when somebody else renews it: cert-manager through a Secret volume, or
// an owner who provides a Secret. What asks for a certificate, or talks to the API server, doesn't live here.
package certs
