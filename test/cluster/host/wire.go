package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// A connection carries one call: a request with its descriptors, and the answers. A packet socket keeps a message and
// its descriptors together.

// request asks init for a process, a socket, or a signal to the process that this connection started.
type request struct {
	Start  *Command       `json:",omitempty"`
	Socket *socketCall    `json:",omitempty"`
	Signal syscall.Signal `json:",omitempty"`
}

type socketCall struct {
	Kind    socketKind
	Net     string // network namespace; empty for the host's first
	Network string
	Address string
	Timeout time.Duration
}

type socketKind string

const (
	dial         socketKind = "dial"
	listen       socketKind = "listen"
	listenPacket socketKind = "listenPacket"
)

type response struct {
	Error  string              `json:",omitempty"`
	Pid    int                 `json:",omitempty"`
	Exited *syscall.WaitStatus `json:",omitempty"`
}

// maxMessage is less than a packet socket with default buffers carries in one message.
const maxMessage = 128 << 10

func socketPath(dir string) string { return filepath.Join(dir, "host.sock") }

func send(conn *net.UnixConn, message any, files ...*os.File) error {
	data, err := json.Marshal(message)
	if err != nil {
		return err
	}
	if len(data) > maxMessage {
		return fmt.Errorf("a call of %d bytes is too long, at most %d fit: pass long input in a file", len(data), maxMessage)
	}
	fds := make([]int, len(files))
	for i, file := range files {
		fds[i] = int(file.Fd())
	}
	_, _, err = conn.WriteMsgUnix(data, syscall.UnixRights(fds...), nil)
	return err
}

// packets is the part of net.UnixConn that reads messages.
type packets interface {
	ReadMsgUnix(data, control []byte) (n, oobn, flags int, from *net.UnixAddr, err error)
}

func receive(conn packets, message any) ([]*os.File, error) {
	data, control := make([]byte, maxMessage), make([]byte, 1024)
	n, oob, _, _, err := conn.ReadMsgUnix(data, control)
	if errors.Is(err, io.EOF) {
		// Linux first looks for a message, and then for a closed peer. A message that arrives between the two is still
		// readable, so read again.
		n, oob, _, _, err = conn.ReadMsgUnix(data, control)
	}
	if err != nil {
		return nil, err
	}
	if n == 0 {
		return nil, net.ErrClosed
	}
	files, err := descriptors(control[:oob])
	if err != nil {
		return nil, err
	}
	return files, json.Unmarshal(data[:n], message)
}

// inherited returns a descriptor that the parent passed on. Processes that we start must not inherit it.
func inherited(fd int, name string) *os.File {
	syscall.CloseOnExec(fd)
	return os.NewFile(uintptr(fd), name)
}

func descriptors(control []byte) ([]*os.File, error) {
	messages, err := syscall.ParseSocketControlMessage(control)
	if err != nil {
		return nil, err
	}
	var files []*os.File
	for _, message := range messages {
		fds, err := syscall.ParseUnixRights(&message)
		if err != nil {
			return nil, err
		}
		for _, fd := range fds {
			syscall.CloseOnExec(fd)
			files = append(files, os.NewFile(uintptr(fd), "passed"))
		}
	}
	return files, nil
}

// reply is the first answer to a call, and its connection.
type reply struct {
	response

	conn  *net.UnixConn
	files []*os.File
}

// call sends a request and waits for its first answer, or for the end of ctx. The connection stays open, because a
// process ends when its connection closes.
func (h *Host) call(ctx context.Context, ask request, files ...*os.File) (reply, error) {
	conn, err := net.DialUnix("unixpacket", nil, &net.UnixAddr{Name: socketPath(h.Dir), Net: "unixpacket"})
	if err != nil {
		return reply{}, fmt.Errorf("host %s is gone: %w", h.Dir, err)
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	got := reply{conn: conn}
	if err = send(conn, ask, files...); err == nil {
		got.files, err = receive(conn, &got.response)
	}
	if err == nil && got.Error != "" {
		err = errors.New(got.Error)
	}
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		_ = conn.Close()
		for _, file := range got.files {
			_ = file.Close()
		}
	}
	return got, err
}
