package faults

import (
	"net"

	"k8s.io/client-go/rest"
)

// Option is an option of a proxy.
type Option func(*options)

type options struct {
	listener net.Listener
	label    string
	as       rest.ImpersonationConfig
	http1    bool
	logSize  int
}

// Listener is the listener that the proxy serves, for example one in the network namespace of its client. The proxy
// closes the listener. The default is a free port of 127.0.0.1.
func Listener(l net.Listener) Option { return func(o *options) { o.listener = l } }

// Label is the user that the counters use if a client's credentials don't show its name.
func Label(user string) Option { return func(o *options) { o.label = user } }

// As lets clients without their own token impersonate this user, so that the user's RBAC applies. Without groups, the
// API server uses the default ones.
func As(user string, groups ...string) Option {
	return func(o *options) { o.as = rest.ImpersonationConfig{UserName: user, Groups: groups} }
}

// HTTP1 disables HTTP/2 for clients, so that each dropped request costs a connection.
func HTTP1() Option { return func(o *options) { o.http1 = true } }

// LogSize is the number of requests in the log; the default is 1,000.
func LogSize(requests int) Option { return func(o *options) { o.logSize = requests } }
