package run

import (
	"context"
	"fmt"
	"io"
	"regexp"
	"strings"
	"sync"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"nowake.ai/svc-lb-mux/reconciler/backends/project"
	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
)

// printer prints the plans of a dry run. It prints a plan again only if the plan has changed. The zero printer is for a
// process that writes.
type printer struct {
	plan   func(*plan.Plan)
	slices func(*project.Decision)
	out    io.Writer
}

// newPrinter returns a printer that prints a plan once the plan has stayed the same for the time settled. When a
// process starts, it learns of a mux's backends channel by channel, and the plan changes each time.
func newPrinter(out io.Writer, settled time.Duration) printer {
	log := &printLog{out: out, settled: settled, last: map[string]string{}, waiting: map[string]*paragraph{}}
	return printer{
		out: out,
		plan: func(p *plan.Plan) {
			var text strings.Builder
			p.Print(&text)
			key := p.Mux.String()
			if p.Mux.Name == "" { // Services that name no mux: each plan is about one of them
				key = text.String()
			}
			log.note(key, text.String(), false)
		},
		slices: func(s *project.Decision) {
			log.note("backends of "+s.Channel.String(), s.String(), s.Empty() && len(s.Taken) == 0)
		},
	}
}

// printLog stores the last printed text by object.
type printLog struct {
	out     io.Writer
	settled time.Duration
	mu      sync.Mutex
	last    map[string]string
	waiting map[string]*paragraph
}

// paragraph is a text that is printed when it has settled.
type paragraph struct {
	text    string
	nothing bool
	timer   *time.Timer
}

// timestamp matches times. A plan that differs from an earlier one only in times is still the same plan.
var timestamp = regexp.MustCompile(`\d{4}-\d{2}-\d{2}T[0-9:.]+Z`)

func untimed(text string) string { return timestamp.ReplaceAllString(text, "") }

// note prints a text that has changed. An empty plan is printed only after one that wasn't empty.
func (p *printLog) note(about, text string, nothing bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.settled == 0 {
		p.print(about, text, nothing)
		return
	}
	waits := p.waiting[about]
	if waits == nil {
		waits = &paragraph{timer: time.AfterFunc(p.settled, func() { p.settle(about) })}
		p.waiting[about] = waits
	} else if untimed(waits.text) != untimed(text) {
		waits.timer.Reset(p.settled)
	}
	waits.text, waits.nothing = text, nothing
}

func (p *printLog) settle(about string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if waits := p.waiting[about]; waits != nil {
		delete(p.waiting, about)
		p.print(about, waits.text, waits.nothing)
	}
}

func (p *printLog) print(about, text string, nothing bool) {
	same := untimed(text)
	last, known := p.last[about]
	if last == same || nothing && !known {
		return
	}
	p.last[about] = same
	_, _ = fmt.Fprint(p.out, "dry run: ", text)
}

// writer returns the real client, or in a dry run one that prints.
func (p printer) writer(real client.Client) client.Writer {
	if p.plan == nil {
		return real
	}
	return &dryWriter{Writer: nil, out: p.out}
}

// dryWriter prints writes instead of making them. It is for the original's Endpoints: plans cover all other writes.
type dryWriter struct {
	client.Writer // nil: any other call panics, and fails a test
	out           io.Writer
}

func (w *dryWriter) would(verb string, obj client.Object) error {
	_, err := fmt.Fprintf(w.out, "dry run: %s %T %s: the original's object\n", verb, obj, client.ObjectKeyFromObject(obj))
	return err
}

func (w *dryWriter) Patch(_ context.Context, obj client.Object, _ client.Patch, _ ...client.PatchOption) error {
	return w.would("patch", obj)
}

func (w *dryWriter) Delete(_ context.Context, obj client.Object, _ ...client.DeleteOption) error {
	return w.would("delete", obj)
}
