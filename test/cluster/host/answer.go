package host

import (
	"fmt"
	"net"
	"os"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// answer serves a call.
func (m *machine) answer(conn *net.UnixConn) {
	defer conn.Close()
	var ask request
	files, err := receive(conn, &ask)
	defer func() {
		for _, file := range files {
			_ = file.Close()
		}
	}()
	switch {
	case err != nil:
		_ = send(conn, response{Error: "unreadable call: " + err.Error()})
	case ask.Start != nil:
		m.start(conn, *ask.Start, files)
	case ask.Socket != nil:
		m.socket(conn, *ask.Socket)
	default:
		_ = send(conn, response{Error: "a call for nothing"})
	}
}

// start runs a process and passes on signals and its exit status. If the caller hangs up, the process is killed.
func (m *machine) start(conn *net.UnixConn, command Command, files []*os.File) {
	var pid int
	var ended chan syscall.WaitStatus
	err := m.inNet(command.Net, func() (err error) {
		pid, ended, err = m.fork(command, files)
		return err
	})
	if err != nil {
		_ = send(conn, response{Error: err.Error()})
		return
	}
	_ = send(conn, response{Pid: pid})
	hungUp := make(chan struct{})
	go func() {
		defer close(hungUp)
		m.obey(conn, pid)
	}()
	status := <-ended
	if err := send(conn, response{Exited: &status}); err != nil {
		return // the caller sees the closed connection, and stops waiting
	}
	// Closing a socket with an unread signal would lose the message above, so wait until the caller hangs up.
	<-hungUp
}

func (m *machine) fork(command Command, files []*os.File) (int, chan syscall.WaitStatus, error) {
	fds := make([]uintptr, len(files))
	for i, file := range files {
		fds[i] = file.Fd()
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	pid, err := syscall.ForkExec(command.Args[0], command.Args, &syscall.ProcAttr{
		Dir: command.Dir, Env: command.Env, Files: fds, Sys: &syscall.SysProcAttr{Setsid: true}})
	if err != nil {
		return 0, nil, fmt.Errorf("%s: %w", command.Args[0], err)
	}
	ended := make(chan syscall.WaitStatus, 1)
	m.waiting[pid] = ended
	return pid, ended, nil
}

// obey passes signals on until the caller hangs up. It ignores signals after the end of the process.
func (m *machine) obey(conn *net.UnixConn, pid int) {
	for {
		var ask request
		if _, err := receive(conn, &ask); err != nil {
			m.kill(pid, syscall.SIGKILL)
			return
		}
		m.kill(pid, ask.Signal)
	}
}

// kill signals a child unless it is reaped already: its process ID may then belong to another process.
func (m *machine) kill(pid int, signal syscall.Signal) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, alive := m.waiting[pid]; alive {
		_ = syscall.Kill(pid, signal)
	}
}

func (m *machine) socket(conn *net.UnixConn, ask socketCall) {
	var file *os.File
	err := m.inNet(ask.Net, func() (err error) {
		file, err = ask.open()
		return err
	})
	if err != nil {
		_ = send(conn, response{Error: err.Error()})
		return
	}
	defer file.Close()
	_ = send(conn, response{}, file)
}

func (ask socketCall) open() (*os.File, error) {
	switch ask.Kind {
	case dial:
		dialer := net.Dialer{Timeout: ask.Timeout}
		return fileOf(dialer.Dial(ask.Network, ask.Address))
	case listen:
		return fileOf(net.Listen(ask.Network, ask.Address))
	case listenPacket:
		return fileOf(net.ListenPacket(ask.Network, ask.Address))
	default:
		return nil, fmt.Errorf("unknown kind of socket %q", ask.Kind)
	}
}

// fileOf returns the descriptor of a value of package net, and closes the value.
func fileOf(value any, err error) (*os.File, error) {
	if err != nil {
		return nil, err
	}
	socket, ok := value.(interface {
		File() (*os.File, error)
		Close() error
	})
	if !ok {
		return nil, fmt.Errorf("%T has no descriptor", value)
	}
	defer socket.Close()
	return socket.File()
}

// inNet runs f on a thread in the named network namespace. The thread ends with the goroutine and isn't reused, so
// nothing else can run in the wrong namespace.
func (m *machine) inNet(name string, f func() error) error {
	result := make(chan error, 1)
	go func() {
		if name == "" {
			result <- f()
			return
		}
		runtime.LockOSThread()
		fd, err := unix.Open("/run/netns/"+name, unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err != nil {
			result <- fmt.Errorf("network namespace %q: %w", name, err)
			return
		}
		defer unix.Close(fd)
		if err := unix.Setns(fd, unix.CLONE_NEWNET); err != nil {
			result <- fmt.Errorf("enter network namespace %q: %w", name, err)
			return
		}
		result <- f()
	}()
	return <-result
}
