package host

import (
	"errors"
	"io"
	"net"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// TestLastMessageIsReadAfterAnEarlyEnd simulates a race in the kernel. A reader finds no message just before one is
// sent, and then finds the peer closed.
func TestLastMessageIsReadAfterAnEarlyEnd(t *testing.T) {
	here, there := pair(t)
	defer here.Close()
	if err := send(there, response{Pid: 17}); err != nil {
		t.Fatal(err)
	}
	_ = there.Close()
	var heard response
	if _, err := receive(&tooEarly{UnixConn: here}, &heard); err != nil || heard.Pid != 17 {
		t.Errorf("got %+v, %v", heard, err)
	}
	if _, err := receive(here, &heard); !errors.Is(err, io.EOF) {
		t.Errorf("after the last message: %v", err)
	}
}

// tooEarly reports the end once, although a message is still unread.
type tooEarly struct {
	*net.UnixConn
	told bool
}

//nolint:revive // it has as many results as a net.UnixConn's
func (c *tooEarly) ReadMsgUnix(data, control []byte) (n, oobn, flags int, from *net.UnixAddr, err error) {
	if !c.told {
		c.told = true
		return 0, 0, 0, nil, io.EOF
	}
	return c.UnixConn.ReadMsgUnix(data, control)
}

func pair(t *testing.T) (a, b *net.UnixConn) {
	t.Helper()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	return unixConn(t, fds[0]), unixConn(t, fds[1])
}

func unixConn(t *testing.T, fd int) *net.UnixConn {
	t.Helper()
	file := os.NewFile(uintptr(fd), "pair")
	defer file.Close()
	conn, err := net.FileConn(file)
	packets, is := conn.(*net.UnixConn)
	if err != nil || !is {
		t.Fatalf("%T, %v", conn, err)
	}
	return packets
}
