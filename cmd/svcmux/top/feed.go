package top

import (
	"cmp"
	"time"

	"nowake.ai/svc-lb-mux/cmd/svcmux/cli"
	"nowake.ai/svc-lb-mux/cmd/svcmux/look"
	"nowake.ai/svc-lb-mux/cmd/svcmux/ports"
	"nowake.ai/svc-lb-mux/cmd/svcmux/status"
)

// refresh is how often ages are computed again even if nothing changes.
const refresh = 5 * time.Second

// feed makes pages from the cluster.
type feed struct {
	flags *look.Flags
	ask   look.Ask
	env   cli.Env
	last  update
	log   []row // of changes, the newest first
}

// update has the pages at a moment, in the order of the keys 1 to 5.
type update struct {
	pages [pageCount]page
	at    time.Time
}

// ended tells that no update follows.
type ended struct{ err error }

func (f *feed) pages(w *look.World) update {
	now := update{at: f.env.Time()}
	now.pages[muxes] = f.page(w, status.List)
	now.pages[numbers] = f.page(w, ports.List)
	now.pages[backends] = f.page(w, listBackends)
	now.pages[traffic] = f.page(w, listTraffic)
	if p := &now.pages[traffic]; p.header != nil && len(p.rows) == 0 {
		p.message = cmp.Or(w.Unread.Gateways, "No gateway has counted traffic of these muxes. Other load balancers have "+
			"counts of their own.")
	}
	if !f.last.at.IsZero() {
		changed := append(changesOf("mux", f.last.pages[muxes], now.pages[muxes]),
			changesOf("port", f.last.pages[numbers], now.pages[numbers])...)
		for _, change := range changed {
			f.log = append([]row{{cells: append([]string{now.at.Format(time.TimeOnly)}, change...)}}, f.log...)
		}
	}
	const longest = 500
	f.log = f.log[:min(len(f.log), longest)]
	now.pages[changes] = page{header: []string{"TIME", "KIND", "NAME", "CHANGE"}, rows: f.log,
		message: "Nothing has changed yet."}
	f.last = now
	return now
}

// page returns a list as a page. An error becomes the page's message, and doesn't end the program: the cluster may get
// a mux later.
func (f *feed) page(w *look.World, list func(*look.Flags, *look.World, look.Ask) (*look.List, error)) page {
	lines, err := list(f.flags, w, f.ask)
	if err != nil {
		return page{message: cli.Sentence(err.Error())}
	}
	p := page{header: lines.Header, notes: lines.Notes, message: "There is nothing to show."}
	for _, line := range lines.Rows {
		p.rows = append(p.rows, row{line.Name, line.Cells})
	}
	return p
}
