package binaries

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"
)

// Progress shows a person what takes time: a counting line on a terminal, elsewhere a line now and then.
type Progress struct {
	To       io.Writer
	Terminal bool
}

// Stderr returns progress on standard error, where people and CI logs expect it.
func Stderr() Progress {
	info, err := os.Stderr.Stat()
	return Progress{To: os.Stderr, Terminal: err == nil && info.Mode()&os.ModeCharDevice != 0}
}

// Begin prints a step, and repeats it with the elapsed time until done is called with the result.
func (p Progress) Begin(what, hint string) (done func(how string)) {
	if p.To == nil {
		return func(string) {}
	}
	if hint != "" {
		hint = " (" + hint + ")"
	}
	fmt.Fprintf(p.To, "%s%s\n", what, hint)
	begun := time.Now()
	stop := make(chan struct{})
	var painter sync.WaitGroup
	painter.Go(func() { p.paint(what, begun, stop) })
	return func(how string) {
		close(stop)
		painter.Wait()
		p.end(what, how, time.Since(begun))
	}
}

func (p Progress) paint(what string, begun time.Time, stop <-chan struct{}) {
	every := 30 * time.Second
	if p.Terminal {
		every = time.Second
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		if p.Terminal {
			fmt.Fprintf(p.To, "\r\033[K%s: %s", what, elapsed(begun))
		}
		select {
		case <-stop:
			return
		case <-tick.C:
		}
		if !p.Terminal {
			fmt.Fprintf(p.To, "%s: still at it after %s\n", what, elapsed(begun))
		}
	}
}

func (p Progress) end(what, how string, took time.Duration) {
	if p.Terminal {
		fmt.Fprint(p.To, "\r\033[K")
	}
	fmt.Fprintf(p.To, "%s: %s after %s\n", what, how, took.Round(time.Second/10))
}

func elapsed(since time.Time) time.Duration { return time.Since(since).Round(time.Second) }
