package survey

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nowake.ai/svc-lb-mux/cmd/svcmux/cli"
)

// write prints the report, its data or the Services, and saves the Services if a folder is given.
func (f *flags) write(env cli.Env, result *Result) error {
	services := result.services()
	if f.output.Dir != "" && len(services) > 0 {
		isMux := func(o metav1.Object) bool { _, set := o.GetAnnotations()[f.Lang.Keys().Multiplexer]; return set }
		files, err := f.output.Save(isMux, services)
		if err != nil {
			return err
		}
		fmt.Fprintf(env.Err, "%s written to %s: %s\n", cli.Count(len(files), "file"), cli.Shown(f.output.Dir),
			strings.Join(files, " "))
	}
	if f.output.Format == "json" {
		encoder := json.NewEncoder(env.Out)
		encoder.SetIndent("", "  ")
		encoder.SetEscapeHTML(false)
		return encoder.Encode(result.data())
	}
	if f.output.Objects() {
		fmt.Fprintln(env.Err, result.headline())
		return f.output.Print(env.Out, services)
	}
	return f.report(env, result)
}

// services returns all proposed Services, muxes first.
func (r *Result) services() []*corev1.Service {
	var muxes, channels []*corev1.Service
	for _, m := range r.Muxes {
		muxes = append(muxes, m.Service)
		for _, member := range m.Members {
			channels = append(channels, member.Channel)
		}
	}
	return append(muxes, channels...)
}

// headline is the result in one sentence.
func (r *Result) headline() string {
	balancers := cli.Count(r.Before, "load balancer")
	switch {
	case r.Before == 0 && r.Channels > 0:
		return fmt.Sprintf("No Service has a load balancer of its own. %s are channels already.",
			cli.Count(r.Channels, "Service"))
	case r.Before == 0:
		return "No Service is of type LoadBalancer."
	case r.After == r.Before:
		return balancers + ": none can be shared."
	}
	return fmt.Sprintf("%s become %d.", balancers, r.After)
}

// report prints the report as text. It is built first, so that half a report is never printed.
func (f *flags) report(env cli.Env, r *Result) error {
	var b bytes.Buffer
	to := &sized{&b, env.Out}
	paint := env.Paint(env.Out)
	fmt.Fprintln(&b, paint.Bold(r.headline()))
	section := func(title string, table cli.Table) error {
		if len(table.Rows) == 0 {
			return nil
		}
		fmt.Fprintf(&b, "\n%s\n", title)
		return to.table(table)
	}
	if err := section("Proposed muxes:", r.muxTable()); err != nil {
		return err
	}
	wide, title := f.output.Format == "wide", "Ports with a new number, since another Service keeps the old one:"
	if wide {
		title = "Proposed channels, and the Service that keeps a port's old number:"
	}
	if err := section(title, r.portTable(wide)); err != nil {
		return err
	}
	if err := section("Services that keep their load balancer:", r.apartTable()); err != nil {
		return err
	}
	for _, note := range r.notes() {
		fmt.Fprintf(&b, "\n%s\n", note)
	}
	if len(r.Muxes) > 0 && f.output.Dir == "" {
		fmt.Fprintf(&b, "\n%s survey --manifests DIR writes these Services as files.\n", env.Program)
	}
	if _, err := env.Out.Write(b.Bytes()); err != nil {
		return fmt.Errorf("the report couldn't be written: %w", err)
	}
	return nil
}

// sized is a buffer whose tables fit the terminal that it will be printed on.
type sized struct {
	to       io.Writer
	terminal io.Writer
}

func (s *sized) table(t cli.Table) error { return t.PrintFor(s.terminal, s.to) }

func (r *Result) muxTable() cli.Table {
	table := cli.Table{Header: []string{"MUX", "PROVIDER", "SERVICES", "PORTS", "LIMIT", "NEW NUMBERS"}}
	for i := range r.Muxes {
		m := &r.Muxes[i]
		moved := 0
		for _, member := range m.Members {
			for _, p := range member.Ports {
				if p.TakenBy != "" {
					moved++
				}
			}
		}
		table.Rows = append(table.Rows, []string{
			m.Key.String(), cmp.Or(m.Provider.Name, "other"), strconv.Itoa(len(m.Members)), strconv.Itoa(m.Ports()),
			strconv.Itoa(m.Limit), strconv.Itoa(moved),
		})
	}
	return table
}

func (r *Result) portTable(wide bool) cli.Table {
	table := cli.Table{Header: []string{"SERVICE", "PORT", "NUMBER", "MUX", "KEPT BY"}}
	if wide {
		table.Header = append(table.Header, "CHANNEL")
	}
	for _, m := range r.Muxes {
		for _, member := range m.Members {
			for _, p := range member.Ports {
				if !wide && p.TakenBy == "" {
					continue
				}
				row := []string{
					cli.Shown(keyOf(member.From).String()), fmt.Sprintf("%d/%s", p.Port.Port, slotOf(p.ServicePort, 0).protocol),
					strconv.Itoa(int(p.Number)), m.Key.Name, p.TakenBy,
				}
				if wide {
					row = append(row, member.Channel.Name)
				}
				table.Rows = append(table.Rows, row)
			}
		}
	}
	return table
}

func (r *Result) apartTable() cli.Table {
	table := cli.Table{Header: []string{"SERVICE", "WHY"}}
	for _, a := range r.Apart {
		table.Rows = append(table.Rows, []string{cli.Shown(a.Service.String()), a.Why})
	}
	return table
}

// notes are sentences about what the tables don't show.
func (r *Result) notes() []string {
	var notes []string
	for _, m := range r.Muxes {
		if ip := m.Service.Spec.LoadBalancerIP; ip != "" {
			notes = append(notes, fmt.Sprintf("%s asks for the address %s, which its Services have today: it gets the address "+
				"once they release it.", m.Key, cli.Shown(ip)))
		}
	}
	if unnamed := r.unnamed(); unnamed > 0 {
		notes = append(notes, fmt.Sprintf("%s without a name: the channel names it by protocol and number, such as tcp-80.",
			cli.Count(unnamed, "port")))
	}
	if r.Channels > 0 && r.Before > 0 {
		notes = append(notes, fmt.Sprintf("Already on a mux: %s.", cli.Count(r.Channels, "channel")))
	}
	return notes
}

func (r *Result) unnamed() int {
	n := 0
	for _, m := range r.Muxes {
		for _, member := range m.Members {
			for _, port := range member.From.Spec.Ports {
				if port.Name == "" {
					n++
				}
			}
		}
	}
	return n
}
