package host

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Command is a program to run on the host.
type Command struct {
	Args []string // Args[0] is the program's path
	Env  []string // nil: only PATH and HOME
	Dir  string
	Net  string // network namespace; empty for the host's first

	Stdin, Stdout, Stderr *os.File `json:"-"` // nil: /dev/null
}

// Process runs on the host. It ends with the process that started it, if not earlier.
type Process struct {
	Pid int // process ID on the host

	name   string
	conn   *net.UnixConn
	sendMu sync.Mutex
	done   chan struct{}
	err    error
}

// Environment returns the default environment of a program.
func Environment() []string {
	return []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root"}
}

// patience is the time that a host may take to start a program, or to report the end of a killed one. Both take
// milliseconds. The timeout keeps a caller from hanging if a host doesn't answer.
const patience = time.Minute

// Run starts a program on the host.
func (h *Host) Run(command Command) (*Process, error) {
	if command.Env == nil {
		command.Env = Environment()
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer null.Close()
	files := []*os.File{command.Stdin, command.Stdout, command.Stderr}
	for i, file := range files {
		if file == nil {
			files[i] = null
		}
	}
	ctx, cancel := context.WithTimeoutCause(context.Background(), patience,
		fmt.Errorf("no answer from the host's init in %s", patience))
	defer cancel()
	got, err := h.call(ctx, request{Start: &command}, files...)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", strings.Join(command.Args, " "), err)
	}
	p := &Process{Pid: got.Pid, name: command.Args[0], conn: got.conn, done: make(chan struct{})}
	go p.watch()
	return p, nil
}

func (p *Process) watch() {
	defer close(p.done)
	defer p.conn.Close()
	var answer response
	if _, err := receive(p.conn, &answer); err != nil || answer.Exited == nil {
		p.err = fmt.Errorf("%s: its host is gone", p.name)
		return
	}
	status := *answer.Exited
	switch {
	case status.Signaled():
		p.err = &ExitError{Name: p.name, Code: -1, Signal: status.Signal()}
	case status.ExitStatus() != 0:
		p.err = &ExitError{Name: p.name, Code: status.ExitStatus()}
	}
}

// ExitError is the error of a process that failed.
type ExitError struct {
	Name   string
	Code   int
	Signal syscall.Signal
}

func (e *ExitError) Error() string {
	if e.Signal != 0 {
		return fmt.Sprintf("%s: ended by signal %d (%s)", e.Name, int(e.Signal), e.Signal)
	}
	return fmt.Sprintf("%s: exit code %d", e.Name, e.Code)
}

// Signal sends a signal. After the end of the process it does nothing.
func (p *Process) Signal(signal syscall.Signal) error {
	p.sendMu.Lock()
	defer p.sendMu.Unlock()
	select {
	case <-p.done:
		return nil
	default:
		err := send(p.conn, request{Signal: signal})
		if errors.Is(err, net.ErrClosed) || errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET) {
			return nil // the process ended just now
		}
		return err
	}
}

// Done returns a channel that is closed when the process has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Wait returns nil if the process ended with exit code 0. If ctx ends first, it kills the process.
func (p *Process) Wait(ctx context.Context) error {
	select {
	case <-p.done:
		return p.err
	case <-ctx.Done():
		_ = p.Signal(syscall.SIGKILL)
	}
	select {
	case <-p.done:
		return fmt.Errorf("%s: killed: %w", p.name, context.Cause(ctx))
	case <-time.After(patience):
		return fmt.Errorf("%s (pid %d on its host): killed: %w: %s later its host hasn't reported its end", p.name, p.Pid,
			context.Cause(ctx), patience)
	}
}
