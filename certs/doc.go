// Package certs keeps the serving certificate: where it comes from, which one is served now, and how long it lasts.
//
// Files serves a pair of files and follows them when somebody else renews it: cert-manager through a Secret volume, or
// an owner who provides a Secret. What talks to the API server lives in packages of its own: selfmanaged makes a certificate
// where nobody else does, guard says whether it does its work, and follow is how both hear of changes.
package certs
