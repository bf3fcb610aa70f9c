package binaries

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"
)

// Progress tells a person what takes so long: one line that counts on a terminal, a line now and then elsewhere.
type Progress struct {
	To       io.Writer
	Terminal bool
}

// Stderr shows progress where a person or a CI log looks for it.
func Stderr() Progress {
	info, err := os.Stderr.Stat()
	return Progress{To: os.Stderr, Terminal: err == nil && info.Mode()&os.ModeCharDevice != 0}
}

// Begin announces a step, and repeats it with the time that has passed until done is called with how it went.
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
