package host

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"time"
)

// Dial connects from inside one of the host's network namespaces. The address is an IP and a port: names mean
// nothing in there.
func (h *Host) Dial(ctx context.Context, namespace, network, address string) (net.Conn, error) {
	timeout := 30 * time.Second
	if deadline, ok := ctx.Deadline(); ok {
		timeout = time.Until(deadline)
	}
	file, err := h.socket(ctx, socketCall{Kind: dial, Net: namespace, Network: network, Address: address, Timeout: timeout})
	if err != nil {
		return nil, err
	}
	return handOver(file, net.FileConn)
}

// Dialer is Dial in the shape that http.Transport and rest.Config want.
func (h *Host) Dialer(namespace string) func(ctx context.Context, network, address string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		return h.Dial(ctx, namespace, network, address)
	}
}

// Listen listens inside one of the host's network namespaces; the connections arrive here.
func (h *Host) Listen(namespace, network, address string) (net.Listener, error) {
	file, err := h.socket(context.Background(), socketCall{Kind: listen, Net: namespace, Network: network, Address: address})
	if err != nil {
		return nil, err
	}
	return handOver(file, net.FileListener)
}

// ListenPacket is Listen for datagrams.
func (h *Host) ListenPacket(namespace, network, address string) (net.PacketConn, error) {
	file, err := h.socket(context.Background(), socketCall{Kind: listenPacket, Net: namespace, Network: network, Address: address})
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

// handOver makes a Go value of a descriptor; the value holds a duplicate, so the first is closed.
func handOver[T any](file *os.File, open func(*os.File) (T, error)) (T, error) {
	value, err := open(file)
	return value, errors.Join(err, file.Close())
}
