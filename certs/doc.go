// Package certs serves TLS certificates from files and reports when they expire. It also checks the certificates of TLS
// clients (Clients).
//
// Files serves a certificate and its key from two files. It follows the files when cert-manager renews them through a
// Secret volume, or when the owner of a provided Secret replaces them. Code that talks to the API server lives in
// packages of its own: selfmanaged makes and renews a certificate without cert-manager, guard checks that the API
// server can reach the webhook, and follow watches single objects for both.
package certs
