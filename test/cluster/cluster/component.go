package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"

	"nowake.ai/svc-lb-mux/test/cluster/host"
)

// Component is a long-running program of the cluster. Tests can make it fail in every way.
type Component struct {
	Name string

	host    *host.Host
	command host.Command
	log     string

	mu      sync.Mutex
	process *host.Process
	ended   bool // ended on purpose
}

// Add runs another program beside the control plane, such as a webhook. If the test fails, its log is shown with the
// others', and tests can make it fail in the same ways. Its environment has only PATH, HOME and an administrator's
// KUBECONFIG.
func (c *Cluster) Add(name, program string, args ...string) (*Component, error) {
	p := c.componentIn("", name, program, args...)
	p.command.Env = c.environment(nil)
	return p, p.Start()
}

// Start starts the component, or starts it again after its end. New log lines are appended to the old log.
func (p *Component) Start() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.process != nil {
		select {
		case <-p.process.Done():
		default:
			return fmt.Errorf("%s runs already", p.Name)
		}
	}
	log, err := os.OpenFile(p.log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("log of %s: %w", p.Name, err)
	}
	defer log.Close()
	command := p.command
	command.Stdout, command.Stderr = log, log
	process, err := p.host.Run(command)
	if err == nil {
		p.process, p.ended = process, false
	}
	return err
}

// Stop asks the component to end, waits for its end, and kills it after 10 s.
func (p *Component) Stop(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	return p.end(ctx, syscall.SIGTERM)
}

// Kill ends the component as a power cut would, and waits for its end.
func (p *Component) Kill(ctx context.Context) error { return p.end(ctx, syscall.SIGKILL) }

// Freeze stops the component: its connections stay open, and it answers nothing.
func (p *Component) Freeze() error { return p.signal(syscall.SIGSTOP) }

// Thaw continues a frozen component.
func (p *Component) Thaw() error { return p.signal(syscall.SIGCONT) }

func (p *Component) signal(signal syscall.Signal) error {
	process := p.running()
	if process == nil {
		return fmt.Errorf("signal %s: the component was never started", p.Name)
	}
	return process.Signal(signal)
}

func (p *Component) running() *host.Process {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.process
}

func (p *Component) end(ctx context.Context, signal syscall.Signal) error {
	p.mu.Lock()
	p.ended = true
	p.mu.Unlock()
	process := p.running()
	if process == nil {
		return fmt.Errorf("end %s: the component was never started", p.Name)
	}
	if err := process.Signal(signal); err != nil {
		return fmt.Errorf("end %s: %w", p.Name, err)
	}
	var exit *host.ExitError
	if err := process.Wait(ctx); err != nil && !errors.As(err, &exit) {
		return err
	}
	return nil
}

// Log returns the last lines of the component's log.
func (p *Component) Log(lines int) string {
	data, err := os.ReadFile(p.log)
	if err != nil {
		return err.Error()
	}
	all := strings.Split(strings.TrimSpace(string(data)), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}

// failed returns an error with the last log lines if the component ended by itself.
func (p *Component) failed() error {
	p.mu.Lock()
	process, onPurpose := p.process, p.ended
	p.mu.Unlock()
	if process == nil || onPurpose {
		return nil
	}
	select {
	case <-process.Done():
		return fmt.Errorf("%s ended: %w; the end of its log:\n%s", p.Name, process.Wait(context.Background()), p.Log(12))
	default:
		return nil
	}
}
