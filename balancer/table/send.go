package table

import (
	"errors"
	"fmt"

	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"
)

// ErrRefused is a transaction that the kernel refused. Nothing of it is in force.
var ErrRefused = errors.New("the kernel refused the transaction")

// send sends the batch as one transaction, and waits until it is in force.
//
// Only the last message asks for an answer. The kernel answers after the transaction, in the order of the messages. It
// answers a failed message even if that didn't ask. So the first answer is the first error, or success.
func (b *batch) send(namespace int) error {
	if len(b.messages) == 0 {
		return nil
	}
	b.messages[len(b.messages)-1].Header.Flags |= netlink.Acknowledge
	conn, err := netlink.Dial(unix.NETLINK_NETFILTER, &netlink.Config{NetNS: namespace})
	if err != nil {
		return fmt.Errorf("open a netlink socket: %w", err)
	}
	defer conn.Close() // each transaction has its own socket: answers to a failed one can't reach the next
	messages, size := b.framed()
	// The kernel takes a transaction only as one datagram, and its default limit is 200 KiB.
	if err := conn.SetWriteBuffer(size); err != nil {
		return fmt.Errorf("make room for a transaction of %d bytes: %w", size, err)
	}
	if _, err := conn.SendMessages(messages); err != nil {
		return fmt.Errorf("send a transaction of %d bytes: %w", size, err)
	}
	if _, err := conn.Receive(); err != nil {
		return refused(err)
	}
	return nil
}

// framed returns the messages between the two that mark a transaction, and a size that holds all.
func (b *batch) framed() ([]netlink.Message, int) {
	const header, slack = 16, 64 << 10
	mark := func(kind netlink.HeaderType) netlink.Message {
		return netlink.Message{Header: netlink.Header{Type: kind, Flags: netlink.Request},
			Data: []byte{unix.AF_UNSPEC, unix.NFNETLINK_V0, 0, unix.NFNL_SUBSYS_NFTABLES}}
	}
	messages := make([]netlink.Message, 0, len(b.messages)+2)
	messages = append(messages, mark(unix.NFNL_MSG_BATCH_BEGIN))
	messages = append(messages, b.messages...)
	messages = append(messages, mark(unix.NFNL_MSG_BATCH_END))
	size := slack
	for i := range messages {
		size += header + len(messages[i].Data)
	}
	return messages, size
}

// refused says what to do about an error of the kernel.
func refused(err error) error {
	switch {
	case errors.Is(err, unix.EPERM):
		return fmt.Errorf("%w: %w. Give the agent the capability NET_ADMIN", ErrRefused, err)
	case errors.Is(err, unix.EOPNOTSUPP), errors.Is(err, unix.EPROTONOSUPPORT), errors.Is(err, unix.EAFNOSUPPORT):
		return fmt.Errorf("%w: %w. The kernel needs nf_tables with nat, jhash and concatenated intervals (5.6 or newer)",
			ErrRefused, err)
	}
	return fmt.Errorf("%w: %w", ErrRefused, err)
}
