package status

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"nowake.ai/svc-lb-mux/cmd/svcmux/cli"
	"nowake.ai/svc-lb-mux/cmd/svcmux/look"
	"nowake.ai/svc-lb-mux/reconciler/console/view"
	"nowake.ai/svc-lb-mux/reconciler/sight"
)

// Schema is the version of the output for programs. Fields may be added; existing fields don't change.
const Schema = "svc-lb-mux/status/v1"

// Item is a mux in the output for programs. It has the fields of the console, without channels and numbers.
type Item struct {
	view.Mux
	Accepted int `json:"accepted"` // channels
	Refused  int `json:"refused"`
	All      int `json:"all"`
	// FullInSeconds is how long the mux has room, at least; absent if that is unknown.
	FullInSeconds *int64   `json:"fullInSeconds,omitempty"`
	Unread        []string `json:"unread,omitempty"` // why parts couldn't be read
	// refused are the channels that are refused, as NAMESPACE/NAME.
	refused []string
}

func of(s *sight.Sight) Item {
	item := Item{Mux: view.Of(s), Unread: s.Unread.Why()}
	for i := range item.Channels {
		item.All++
		switch channel := &item.Channels[i]; {
		case channel.Accepted:
			item.Accepted++
		case channel.IsRefused():
			item.Refused++
			item.refused = append(item.refused, cli.Shown(channel.Namespace+"/"+channel.Name))
		}
	}
	item.Channels, item.Slots = nil, []view.Slot{}
	if left, known := view.FullIn(s); known {
		seconds := int64(left.Seconds())
		item.FullInSeconds = &seconds
	}
	return item
}

// steady returns the item without the field that changes with time alone.
func (m *Item) steady() Item {
	item := *m
	item.FullInSeconds = nil
	return item
}

func header(wide bool) []string {
	if wide {
		return []string{"MUX", "ADDRESS", "PROVIDER", "PORTS", "FREE", "CHANNELS", "REFUSED", "STATE", "FULL", "RANGE",
			"GRACE", "FOREIGN", "LEDGER", "CARRIED BY", "WHY"}
	}
	return []string{"MUX", "ADDRESS", "PROVIDER", "PORTS", "FREE", "CHANNELS", "STATE", "FULL"}
}

func (m *Item) cells(wide bool) []string {
	name := cli.Shown(m.Namespace + "/" + m.Name)
	address, provider, ports, free := dash(strings.Join(m.Addresses, ",")), "other", "-", "-"
	if m.Settings.Provider != "" {
		provider = m.Settings.Provider
	}
	switch m.State {
	case "unread":
		address, provider, ports, free = "?", "?", "?", "?"
	case "missing":
		provider = "-"
	default:
		ports = fmt.Sprintf("%d/%d", m.Usage.Held+m.Usage.Foreign, m.Usage.Limit)
		if m.Usage.RangeSize > 0 {
			free = strconv.Itoa(m.Usage.RangeFree)
		}
	}
	channels := fmt.Sprintf("%d/%d", m.Accepted, m.All)
	cells := []string{name, address, provider, ports, free, channels}
	if wide {
		cells = append(cells, strconv.Itoa(m.Refused))
	}
	cells = append(cells, m.State, m.full())
	if wide {
		cells = append(cells, dash(m.Settings.PortRange), strconv.Itoa(m.Usage.InGrace), strconv.Itoa(m.Usage.Foreign),
			dash(m.Ledger.State), dash(cli.Sentence(m.CarriedBy)), dash(cli.Sentence(m.Message)))
	}
	return cells
}

func (m *Item) full() string {
	if m.FullInSeconds == nil {
		return "-"
	}
	return ">" + cli.Age(time.Duration(*m.FullInSeconds)*time.Second)
}

// notes are sentences about what needs attention.
func (m *Item) notes() []string {
	name := cli.Shown(m.Namespace + "/" + m.Name)
	var notes []string
	add := func(format string, args ...any) {
		notes = append(notes, name+" "+cli.Sentence(fmt.Sprintf(format, args...)))
	}
	switch m.State {
	case "ok":
	case "unread":
	case "missing":
		return []string{name + " is missing: " + m.Message + ". Its channels: " + named(m.refused)}
	case "pending", "deleting":
		add("is %s: %s", m.State, m.Message)
	default:
		add("is %s (%s): %s", m.State, m.Reason, m.Message)
	}
	for _, note := range m.Notes {
		if note.Message != m.Message {
			add("(%s): %s", note.Reason, note.Message)
		}
	}
	if m.Refused > 0 {
		add("refuses %s: svcmux explain %s tells why", named(m.refused), m.refused[0])
	}
	if len(m.Pending) > 0 && m.State != "frozen" && m.State != "paused" {
		add("waits for the reconciler to carry out %s: if this lasts, see whether it runs, and read its log",
			cli.Count(len(m.Pending), "write"))
	}
	if len(m.Unread) > 0 {
		notes = append(notes, look.WhatIsUnread(name, m.Unread))
	}
	return notes
}

// named names a few channels and counts the others.
func named(channels []string) string {
	const most = 3
	if more := len(channels) - most; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(channels[:most], ", "), more)
	}
	return strings.Join(channels, ", ")
}

func dash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}
