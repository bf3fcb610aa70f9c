package process

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sys/unix"
)

// lockName is an abstract socket: it exists once in a network namespace, pods with the host's network included, and
// ends with its process.
const lockName = "@svc-lb-mux-gateway"

const (
	lockEvery   = 250 * time.Millisecond
	lockTimeout = time.Second
	longestName = 200 // of the text in which a holder names itself
)

// lock keeps a second agent from the machine: both would write the same tables, addresses and state.
type lock struct{ listener net.Listener }

// awaitLock returns once no other agent works on this machine. Meanwhile, the log and /readyz say which agent does.
func awaitLock(ctx context.Context, o *Options, log *zap.SugaredLogger) (*lock, error) {
	l, err := takeLock(o)
	if err == nil || !errors.Is(err, unix.EADDRINUSE) {
		return l, err
	}
	why := fmt.Sprintf("another agent works on this machine (%s): this agent waits until that one has ended. Two agents "+
		"would write the same tables: stop one of them, or select other machines for its pool", holder(ctx))
	log.Warnw("This agent waits", "why", why)
	isAlive, isReady := func() bool { return true }, func() bool { return false }
	server, err := serveProbes(o.ProbeAddress, isAlive, isReady, why, http.NotFoundHandler())
	if err != nil { // the other agent may have the same port
		log.Infow("No probes are served while this agent waits", "error", err.Error())
	}
	if server != nil {
		defer func() { _ = server.Close() }()
	}
	tick := time.NewTicker(lockEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-tick.C:
		}
		l, err := takeLock(o)
		if err == nil {
			log.Infow("The other agent has ended: this one starts")
		}
		if err == nil || !errors.Is(err, unix.EADDRINUSE) {
			return l, err
		}
	}
}

func takeLock(o *Options) (*lock, error) {
	listener, err := net.Listen("unix", lockName)
	if err != nil {
		return nil, fmt.Errorf("make sure that no other agent works on this machine: %w", err)
	}
	name := fmt.Sprintf("gateway %s of pool %s, namespace %s, process %d", o.Name, o.Pool, o.Namespace, os.Getpid())
	go func() {
		for {
			conn, err := listener.Accept()
			if errors.Is(err, net.ErrClosed) {
				return
			}
			if err != nil {
				time.Sleep(lockEvery)
				continue
			}
			_ = conn.SetDeadline(time.Now().Add(lockTimeout))
			_, _ = io.WriteString(conn, name)
			_ = conn.Close()
		}
	}()
	return &lock{listener}, nil
}

func (l *lock) release() { _ = l.listener.Close() }

// holder asks the agent that has the lock for its name.
func holder(ctx context.Context) string {
	ctx, cancel := context.WithTimeout(ctx, lockTimeout)
	defer cancel()
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", lockName)
	if err != nil {
		return "it doesn't say which one"
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(lockTimeout))
	text, err := io.ReadAll(io.LimitReader(conn, longestName))
	if err != nil || len(text) == 0 {
		return "it doesn't say which one"
	}
	return fmt.Sprintf("%q", text)
}
