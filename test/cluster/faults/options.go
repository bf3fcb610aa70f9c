package faults

import (
	"net"

	"k8s.io/client-go/rest"
)

// Option is a choice made at the start of a proxy.
type Option func(*options)

type options struct {
	listener net.Listener
	label    string
	as       rest.ImpersonationConfig
	http1    bool
	logSize  int
}

// Listener has the proxy listen there, in whichever network namespace the client lives. The proxy closes it. The
// default is a free port of 127.0.0.1.
func Listener(l net.Listener) Option { return func(o *options) { o.listener = l } }

// Label is what the counters call a client whose credentials don't tell its name.
func Label(user string) Option { return func(o *options) { o.label = user } }

// As has clients without a token of their own appear as this user, by impersonation, so that its RBAC applies. With
// no groups the API server gives it the usual ones.
func As(user string, groups ...string) Option {
	return func(o *options) { o.as = rest.ImpersonationConfig{UserName: user, Groups: groups} }
}

// HTTP1 offers clients no HTTP/2, so that each dropped request costs them a connection.
func HTTP1() Option { return func(o *options) { o.http1 = true } }

// LogSize is how many requests the log remembers; 1,000 otherwise.
func LogSize(requests int) Option { return func(o *options) { o.logSize = requests } }
