package explain

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"

	"nowake.ai/svc-lb-mux/reconciler/console/view"
	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
)

// patience is how long a connection may take.
const patience = 3 * time.Second

// try opens a connection to each number of a chain at each address, and adds a link for each. Nothing is sent.
func (o *options) try(ctx context.Context, c *view.Chain) {
	tried := 0
	for _, port := range asked(c) {
		for _, address := range c.Shows {
			tried++
			number := cmp.Or(c.Number, port.Public)
			where := net.JoinHostPort(address, strconv.Itoa(int(number)))
			link := view.Link{Name: "probe", State: "unread", Text: where + "/" + port.Protocol + " isn't tried",
				Mend: "only TCP answers whether somebody listens; send a request of the protocol"}
			if port.Protocol == "TCP" {
				link = o.connect(ctx, where)
			}
			c.Links = append(c.Links, link)
			c.Whole = c.Whole && link.State != "bad"
		}
	}
	if tried == 0 {
		c.Links = append(c.Links, view.Link{Name: "probe", State: "open"})
	}
}

// asked returns the ports of the chain's channel that have a number. For a chain about a number, it returns only the
// port with that number.
func asked(c *view.Chain) []view.Port {
	if c.Channel == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(c.Channel.Ports), func(p view.Port) bool {
		return p.Public == 0 || c.Number != 0 &&
			!p.Span().Covers(plan.Slot{Number: c.Number, Protocol: corev1.Protocol(c.Protocol)}.Span())
	})
}

func (o *options) connect(ctx context.Context, where string) view.Link {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	conn, err := o.dial(ctx, "tcp", where)
	if err == nil {
		_ = conn.Close()
		return view.Link{Name: "probe", State: "ok", Text: where + " accepts connections from here"}
	}
	link := view.Link{Name: "probe", State: "bad",
		Text: where + ": " + strings.TrimPrefix(err.Error(), "dial tcp "+where+": ")}
	var timeout net.Error
	var name *net.DNSError
	switch {
	case errors.As(err, &name):
		link.Mend = "the name of the load balancer doesn't resolve here: providers need minutes for a new one"
	case errors.Is(err, syscall.ECONNREFUSED):
		link.Mend = "the load balancer answers, and nothing listens on the number: see the Events on the mux, and whether " +
			"its provider has taken the port"
	case errors.Is(err, os.ErrDeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		link.Text = fmt.Sprintf("%s: no answer within %s", where, patience)
		link.Mend = "see firewalls between this machine and the load balancer, its source ranges, and its health checks"
	default:
		link.Mend = "try from another machine: this one may have no route to the address"
	}
	return link
}
