package view

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
	"nowake.ai/svc-lb-mux/reconciler/sight"
	"nowake.ai/svc-lb-mux/validation"
)

// States of a mux.
const (
	muxOK      = "ok"
	muxPending = "pending"
	// muxUncarried is a mux with an address for which no gateway answers.
	muxUncarried = "uncarried"
	muxFrozen    = "frozen"
	muxPaused    = "paused"
	muxDeleting  = "deleting"
	muxMissing   = "missing"
	muxUnread    = "unread" // never in the console
)

// Of returns the view of a mux.
func Of(s *sight.Sight) Mux {
	key, p := s.World.Key, s.Plan
	view := Mux{
		Namespace: key.Namespace, Name: key.Name, Addresses: []string{}, Counts: map[string]int{},
		Ranges: []Range{}, Slots: []Slot{}, Notes: notesOf(p.Standing), Pending: stepsOf(p), Passed: timeOf(s.Passed),
		Usage: Usage(p.Usage),
	}
	if s.Unread.Any() {
		view.Pending = []Step{} // the plan was made without some objects
	}
	if s.Failed != nil {
		view.Failed = s.Failed.Error()
	}
	view.State, view.Reason, view.Message = stateOf(s)
	if mux := s.World.Mux; mux != nil {
		view.Addresses, view.Settings = addressesOf(mux.Address), settingsOf(mux)
		if s.Carrier != nil {
			view.CarriedBy = s.Carrier.By
		}
		view.Ranges, view.Slots, view.Ledger = rangesOf(mux.Auto), slotsOf(s), ledgerOf(s)
	}
	view.Channels = claimantsOf(s)
	for i := range view.Channels {
		view.Counts[view.Channels[i].State]++
	}
	if view.Gateway = gatewayOf(s, view.Channels); s.World.ListenersUnknown {
		view.Notes = append(view.Notes, Note{true, string(reasonUnknown), messageUnknown})
	}
	return view
}

func stateOf(s *sight.Sight) (state, reason, message string) {
	mux, freeze := s.World.Mux, s.Plan.Freeze
	switch {
	case mux == nil && s.World.Key.Name == "":
		return muxMissing, string(validation.InvalidLoadBalancerClass), "these Services have a class that names no mux"
	case mux == nil && s.Unread.Mux != "":
		return muxUnread, "", s.Unread.Mux
	case mux == nil:
		return muxMissing, string(plan.MuxNotFound),
			fmt.Sprintf(
				`channels name this mux, and there is none: a Service by that name needs type LoadBalancer and `+
					`annotation %s: "true"; `+
					"or create the channels again with another class", s.World.Keys.Multiplexer)
	case mux.Deleting:
		return muxDeleting, string(plan.MuxNotFound), "the mux is being deleted: its channels lose their address"
	case freeze != nil && freeze.Reason == plan.MuxPaused:
		return muxPaused, string(freeze.Reason), freeze.Message
	case freeze != nil:
		return muxFrozen, string(freeze.Reason), freeze.Message
	case len(mux.Address) == 0:
		reason, message = noAddress(s)
		return muxPending, reason, message
	case s.Carrier != nil && s.Carrier.Nobody():
		return muxUncarried, s.Carrier.Carried.Reason, s.Carrier.Carried.Message
	}
	if missing := missingPorts(s); len(missing) > 0 {
		return muxPending, "", "ports of accepted channels aren't on the mux yet: " + someOf(missing)
	}
	return muxOK, "", ""
}

// missingPorts returns the numbers of accepted channels that aren't on the mux, each with its channel.
func missingPorts(s *sight.Sight) (missing []string) {
	live := liveNames(s.World.Mux)
	for i := range s.Plan.Verdicts {
		verdict := &s.Plan.Verdicts[i]
		for j := range verdict.Ports {
			if port := &verdict.Ports[j]; verdict.Accepted && port.Public != 0 && !live.has(port) {
				missing = append(missing, port.Span().String()+" of "+verdict.Channel.String())
			}
		}
	}
	return missing
}

// someOf lists the first few.
func someOf(all []string) string {
	const few = 3
	if len(all) <= few {
		return strings.Join(all, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(all[:few], ", "), len(all)-few)
}

// noAddress says why a mux has no address.
func noAddress(s *sight.Sight) (reason, message string) {
	if s.Carrier == nil {
		return string(plan.AddressPending), "the mux has no address from its provider yet"
	}
	if trouble, is := s.Carrier.Trouble(); is {
		return trouble.Reason, trouble.Message
	}
	return string(plan.AddressPending), "the gateways' controller hasn't given the mux an address of pool " +
		s.Carrier.Pool + " yet"
}

func settingsOf(mux *plan.ObservedMux) Settings {
	settings := Settings{
		Provider: mux.Provider.Name, Class: mux.Class, PortRange: mux.Auto.String(), ExplicitRange: mux.Explicit.String(),
		AllowedNamespaces: mux.Namespaces.String(), AllowedProtocols: mux.Protocols.Allowed.String(),
		PerNamespace: mux.CapPerNamespace,
	}
	if mux.Grace > 0 {
		settings.Grace = mux.Grace.String()
	}
	return settings
}

func addressesOf(ingress []corev1.LoadBalancerIngress) []string {
	list := make([]string, 0, len(ingress))
	for i := range ingress {
		for _, address := range [...]string{ingress[i].IP, ingress[i].Hostname} {
			if address != "" {
				list = append(list, address)
			}
		}
	}
	slices.Sort(list)
	return list
}

func notesOf(events []plan.Event) []Note {
	notes := make([]Note, 0, len(events))
	for i := range events {
		notes = append(notes, Note{events[i].Warning, string(events[i].Reason), events[i].Message})
	}
	return notes
}

func stepsOf(p *plan.Plan) []Step { return Steps(p.Steps()) }

// maxSteps limits the intended writes that are listed.
const maxSteps = 20

// Steps returns the first intended writes, without the details of their content.
func Steps(steps []plan.Step) []Step {
	list := make([]Step, 0, min(len(steps), maxSteps))
	for i := range steps[:min(len(steps), maxSteps)] {
		list = append(list, Step{Verb: steps[i].Verb, Object: steps[i].Object, Why: slices.Clone(steps[i].Why)})
	}
	return list
}

func ledgerOf(s *sight.Sight) Ledger {
	reading, state := &s.World.Ledger, "good"
	if s.Unread.Ledger != "" {
		return Ledger{Name: reading.Name, State: "unread", Why: s.Unread.Ledger}
	}
	switch reading.Condition {
	case plan.Good:
	case plan.Edited:
		state = "edited"
	case plan.Missing:
		state = "missing"
	case plan.Unreadable:
		state = "unreadable"
	case plan.Foreign:
		state = "foreign"
	case plan.Newer:
		state = "newer"
	}
	return Ledger{Name: reading.Name, State: state, Generation: reading.Ledger.Generation, Why: reading.Why}
}

func timeOf(at time.Time) *time.Time {
	if at.IsZero() {
		return nil
	}
	at = at.UTC()
	return &at
}
