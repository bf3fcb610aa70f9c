package webhook

import (
	"net"
	"slices"
	"sync"
)

const (
	// maxConnections limits the open connections. An API server needs one connection for each 8 concurrent reviews.
	maxConnections = 128
	// receiveBuffer limits the bytes of a connection that wait in the kernel. The pod's memory limit counts them.
	receiveBuffer = 128 << 10
)

// connections is a listener that limits its open connections, and divides them between senders as budget divides
// memory. At the limit, a new connection replaces the oldest one of the sender that has most. It is closed instead if
// its own sender has as many connections, or one fewer. So no sender can keep others out by holding connections open.
type connections struct {
	net.Listener
	most int

	mu    sync.Mutex
	count int
	open  map[string][]*connection // by sender, oldest first
}

type connection struct {
	net.Conn
	list *connections
	from string
	gone bool
}

func limitConnections(listener net.Listener, most int) *connections {
	return &connections{Listener: listener, most: most, open: map[string][]*connection{}}
}

// Accept returns the next connection within the limit.
func (l *connections) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if tcp, ok := conn.(*net.TCPConn); ok {
			_ = tcp.SetReadBuffer(receiveBuffer) // on failure, the system's default applies
		}
		c := &connection{Conn: conn, list: l, from: senderOf(conn.RemoteAddr().String())}
		replaced, ok := l.add(c)
		if replaced != nil {
			_ = replaced.Close() // the server notices at its next read
		}
		if ok {
			return c, nil
		}
		_ = conn.Close()
	}
}

// add adds the connection to the list. It returns the connection that it replaces, and false if there is no place.
func (l *connections) add(c *connection) (replaced *connection, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.count >= l.most {
		largest := c.from
		for from, open := range l.open {
			if len(open) > len(l.open[largest]) {
				largest = from
			}
		}
		own := len(l.open[c.from])
		if own > 0 {
			own++ // otherwise two senders would replace each other's connections forever
		}
		if len(l.open[largest]) <= own {
			return nil, false
		}
		replaced = l.open[largest][0]
		l.remove(replaced)
	}
	l.open[c.from] = append(l.open[c.from], c)
	l.count++
	return replaced, true
}

func (l *connections) remove(c *connection) {
	if c.gone {
		return
	}
	c.gone = true
	l.count--
	l.open[c.from] = slices.DeleteFunc(l.open[c.from], func(other *connection) bool { return other == c })
	if len(l.open[c.from]) == 0 {
		delete(l.open, c.from)
	}
}

// Close closes the connection and frees its place.
func (c *connection) Close() error {
	c.list.mu.Lock()
	c.list.remove(c)
	c.list.mu.Unlock()
	return c.Conn.Close()
}

// senderOf returns the IP address of a remote address.
func senderOf(remote string) string {
	host, _, err := net.SplitHostPort(remote)
	if err != nil {
		return remote
	}
	return host
}
