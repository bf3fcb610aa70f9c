package process

import (
	"context"
	"fmt"
	"io"
	"regexp"
	"strings"
	"sync"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"nowake.ai/svc-lb-mux/reconciler/plan"
	muxslices "nowake.ai/svc-lb-mux/reconciler/slices"
)

// printer is what a dry run has in place of writing: it prints each plan, once for as long as it stays the same. The
// zero printer is no dry run.
type printer struct {
	plan   func(*plan.Plan)
	slices func(*muxslices.Decision)
	out    io.Writer
}

func newPrinter(out io.Writer) printer {
	d := &diary{out: out, last: map[string]string{}}
	return printer{
		out: out,
		plan: func(p *plan.Plan) {
			var text strings.Builder
			p.Print(&text)
			about := p.Mux.String()
			if p.Mux.Name == "" { // a Service that names no mux: each of them is told of alone
				about = text.String()
			}
			d.note(about, text.String(), false)
		},
		slices: func(s *muxslices.Decision) {
			d.note("backends of "+s.Channel.String(), s.String(), s.Empty() && len(s.Taken) == 0)
		},
	}
}

// diary holds what was printed last about each thing.
type diary struct {
	out  io.Writer
	mu   sync.Mutex
	last map[string]string
}

// moment is a point in time. A plan that is made later names later ones, and is the same plan.
var moment = regexp.MustCompile(`\d{4}-\d{2}-\d{2}T[0-9:.]+Z`)

// note prints what is new. That there is nothing to do is told only where there was.
func (d *diary) note(about, text string, nothing bool) {
	same := moment.ReplaceAllString(text, "")
	d.mu.Lock()
	defer d.mu.Unlock()
	last, known := d.last[about]
	if last == same || nothing && !known {
		return
	}
	d.last[about] = same
	_, _ = fmt.Fprint(d.out, "dry run: ", text)
}

// writer writes, or in a dry run says what it would write.
func (p printer) writer(real client.Client) client.Writer {
	if p.plan == nil {
		return real
	}
	return &dryWriter{Writer: nil, out: p.out}
}

// dryWriter takes everything and writes nothing. What a plan tells of doesn't come here: it is for the Endpoints of a
// mux alone.
type dryWriter struct {
	client.Writer // nothing else is called: it would panic, and a test would see it
	out           io.Writer
}

func (w *dryWriter) would(verb string, obj client.Object) error {
	_, err := fmt.Fprintf(w.out, "dry run: %s %T %s: it is the original's, or ours in its place\n",
		verb, obj, client.ObjectKeyFromObject(obj))
	return err
}

func (w *dryWriter) Create(_ context.Context, obj client.Object, _ ...client.CreateOption) error {
	return w.would("create", obj)
}

func (w *dryWriter) Patch(_ context.Context, obj client.Object, _ client.Patch, _ ...client.PatchOption) error {
	return w.would("patch", obj)
}

func (w *dryWriter) Delete(_ context.Context, obj client.Object, _ ...client.DeleteOption) error {
	return w.would("delete", obj)
}
