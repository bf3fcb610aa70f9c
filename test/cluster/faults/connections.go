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

// connections keeps those that are open, so that they can be cut.
type connections struct {
	mu     sync.Mutex
	closed bool
	open   map[*connection]struct{}
}

func newConnections() *connections {
	return &connections{open: map[*connection]struct{}{}}
}

// connection leaves its set when it is closed.
type connection struct {
	net.Conn
	set *connections
	cut atomic.Bool // what came over it and isn't made yet never will be
}

func (c *connection) Close() error {
	c.set.mu.Lock()
	delete(c.set.open, c)
	c.set.mu.Unlock()
	return c.Conn.Close()
}

// add takes a new connection in; once the set is shut, it closes it instead.
func (s *connections) add(conn net.Conn) (net.Conn, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		_ = conn.Close() // nobody has used it
		return nil, net.ErrClosed
	}
	added := &connection{Conn: conn, set: s}
	s.open[added] = struct{}{}
	return added, nil
}

// cut closes all that are open. Once it returns, no request that came over them will be made any more.
func (s *connections) cut() {
	s.mu.Lock()
	open := slices.Collect(maps.Keys(s.open))
	s.mu.Unlock()
	for _, conn := range open {
		conn.cut.Store(true)
		_ = conn.Close() // whoever uses it will see the end
	}
}

// shut closes all that are open or are yet to come.
func (s *connections) shut() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.cut()
}

// listener takes each connection that it accepts into the set.
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

// withConnection lets a request know over which connection it came.
func withConnection(ctx context.Context, conn net.Conn) context.Context {
	if encrypted, ok := conn.(*tls.Conn); ok {
		conn = encrypted.NetConn()
	}
	return context.WithValue(ctx, connectionKey{}, conn)
}

// isCut says whether a request's connection was cut. Its context says so too, but only a little later.
func isCut(ctx context.Context) bool {
	conn, ok := ctx.Value(connectionKey{}).(*connection)
	return ok && conn.cut.Load()
}
