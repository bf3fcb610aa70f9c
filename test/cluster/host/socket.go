package host

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"time"
)

// Dial connects from a network namespace of the host. The address is an IP address and a port: names can't be resolved
// there.
func (h *Host) Dial(ctx context.Context, namespace, network, address string) (net.Conn, error) {
	timeout := 30 * time.Second
	if deadline, ok := ctx.Deadline(); ok {
		timeout = time.Until(deadline)
	}
	file, err := h.socket(ctx,
		socketCall{Kind: dial, Net: namespace, Network: network, Address: address, Timeout: timeout})
	if err != nil {
		return nil, err
	}
	return handOver(file, net.FileConn)
}

// Dialer returns Dial in the form that http.Transport and rest.Config need.
func (h *Host) Dialer(namespace string) func(ctx context.Context, network, address string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		return h.Dial(ctx, namespace, network, address)
	}
}

// Listen listens in a network namespace of the host. This process accepts the connections.
func (h *Host) Listen(namespace, network, address string) (net.Listener, error) {
	file, err := h.socket(context.Background(),
		socketCall{Kind: listen, Net: namespace, Network: network, Address: address})
	if err != nil {
		return nil, err
	}
	return handOver(file, net.FileListener)
}

// ListenPacket does for datagrams what Listen does for connections.
func (h *Host) ListenPacket(namespace, network, address string) (net.PacketConn, error) {
	file, err := h.socket(context.Background(),
		socketCall{Kind: listenPacket, Net: namespace, Network: network, Address: address})
	if err != nil {
		return nil, err
	}
	return handOver(file, net.FilePacketConn)
}

func (h *Host) socket(ctx context.Context, ask socketCall) (*os.File, error) {
	got, err := h.call(ctx, request{Socket: &ask})
	if err != nil {
		return nil, fmt.Errorf("%s %s %s on the host: %w", ask.Kind, ask.Network, ask.Address, err)
	}
	_ = got.conn.Close()
	if len(got.files) != 1 {
		return nil, fmt.Errorf("%s %s %s on the host: got %d sockets", ask.Kind, ask.Network, ask.Address, len(got.files))
	}
	return got.files[0], nil
}

// handOver converts a descriptor to a Go value. The value holds a duplicate, so the original is closed.
func handOver[T any](file *os.File, open func(*os.File) (T, error)) (T, error) {
	value, err := open(file)
	return value, errors.Join(err, file.Close())
}
