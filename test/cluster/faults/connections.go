package faults

import (
	"context"
	"crypto/tls"
	"maps"
	"net"
	"slices"
	"sync"
	"sync/atomic"
)

// connections holds the open connections, so that they can be cut.
type connections struct {
	mu     sync.Mutex
	closed bool
	open   map[*connection]struct{}
}

func newConnections() *connections {
	return &connections{open: map[*connection]struct{}{}}
}

// connection removes itself from its set when it is closed.
type connection struct {
	net.Conn
	set *connections
	cut atomic.Bool // requests that came over it and aren't made yet must never be made
}

func (c *connection) Close() error {
	c.set.mu.Lock()
	delete(c.set.open, c)
	c.set.mu.Unlock()
	return c.Conn.Close()
}

// add adds a new connection. If the set is shut, it closes the connection instead.
func (s *connections) add(conn net.Conn) (net.Conn, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		_ = conn.Close() // no request has used it
		return nil, net.ErrClosed
	}
	added := &connection{Conn: conn, set: s}
	s.open[added] = struct{}{}
	return added, nil
}

// cut closes all open connections. After it returns, no request that came over them is made any more.
func (s *connections) cut() {
	s.mu.Lock()
	open := slices.Collect(maps.Keys(s.open))
	s.mu.Unlock()
	for _, conn := range open {
		conn.cut.Store(true)
		_ = conn.Close() // its user gets an error
	}
}

// shut closes all open connections, and all future ones.
func (s *connections) shut() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.cut()
}

// listener adds each accepted connection to the set.
type listener struct {
	net.Listener
	set *connections
}

func (l listener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return l.set.add(conn)
}

type connectionKey struct{}

// withConnection stores a request's connection in its context.
func withConnection(ctx context.Context, conn net.Conn) context.Context {
	if encrypted, ok := conn.(*tls.Conn); ok {
		conn = encrypted.NetConn()
	}
	return context.WithValue(ctx, connectionKey{}, conn)
}

// isCut returns whether a request's connection was cut. The context ends, too, but a little later.
func isCut(ctx context.Context) bool {
	conn, ok := ctx.Value(connectionKey{}).(*connection)
	return ok && conn.cut.Load()
}
