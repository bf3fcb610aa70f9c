package table

import (
	"strconv"
	"strings"

	"github.com/google/nftables/expr"
	"golang.org/x/sys/unix"

	"nowake.ai/svc-lb-mux/balancer/want"
)

// choice is how a service chooses a backend. All services with equal choices share a chain.
type choice struct {
	slots    int
	isRange  bool
	sticky   bool
	filtered bool // only clients in a list of networks may connect
}

func choiceOf(s *want.Service) choice {
	return choice{slots: len(s.Slots), isRange: s.IsRange(), sticky: s.Sticky, filtered: len(s.Sources) > 0}
}

// chain returns the name of the choice's chain, such as n3 or r3-sticky-from.
func (c choice) chain() string {
	name := "n"
	if c.isRange {
		name = "r"
	}
	name += strconv.Itoa(c.slots)
	if c.sticky {
		name += "-sticky"
	}
	if c.filtered {
		name += "-from"
	}
	return name
}

// rules returns the rules of the choice's chain. A packet for which no slot is found meets the drop at the end.
func (c choice) rules(f family) []rule {
	end := f.rule(one(&expr.Counter{}), drop())
	switch {
	case c.filtered:
		unfiltered := c
		unfiltered.filtered = false
		lists := setLists
		if c.isRange {
			lists = setRangeLists
		}
		return []rule{f.rule(f.loadService(), f.isInListOf(lists), continueAt(unfiltered.chain())), end}
	case c.isRange:
		number := loadPort(f.behindKey(), destinationPort)
		translate := f.rule(f.loadService(), f.loadSlot(f.portRegister(), uint32(c.slots), c.sticky), one(number),
			one(find(setRangeSlots)))
		return []rule{append(translate, f.shiftPort()), end}
	}
	translate := &expr.NAT{Type: expr.NATTypeDestNAT, Family: uint32(f.number), RegAddrMin: firstRegister,
		RegProtoMin: f.protocolRegister()} // where a backend's port is, behind its address
	return []rule{f.rule(f.loadService(), f.loadSlot(f.behindKey(), uint32(c.slots), c.sticky), one(find(setSlots)),
		one(translate)), end}
}

const protocolOffset = 0x20 // NF_NAT_RANGE_PROTO_OFFSET

// shiftPort is the expression that translates to a backend, and to the port
//
//	lowest + number mod (highest - lowest + 1)
//
// See windowsOf for lowest and highest. The library can't encode the flag protocolOffset.
func (f family) shiftPort() []byte {
	var e attributes
	e.text(unix.NFTA_EXPR_NAME, "nat")
	e.nest(unix.NFTA_EXPR_DATA, func(e *attributes) {
		e.number(unix.NFTA_NAT_TYPE, unix.NFT_NAT_DNAT)
		e.number(unix.NFTA_NAT_FAMILY, uint32(f.number))
		e.number(unix.NFTA_NAT_REG_ADDR_MIN, firstRegister)
		e.number(unix.NFTA_NAT_REG_PROTO_MIN, f.protocolRegister())
		e.number(unix.NFTA_NAT_REG_PROTO_MAX, f.portRegister())
		e.number(unix.NFTA_NAT_FLAGS, protocolOffset)
	})
	return e
}

// parseChoice returns the choice that a chain is named for.
func parseChoice(name string) (choice, bool) {
	head, filtered := strings.CutSuffix(name, "-from")
	head, sticky := strings.CutSuffix(head, "-sticky")
	digits, isRange := strings.CutPrefix(head, "r")
	slots, err := strconv.Atoi(strings.TrimPrefix(digits, "n"))
	c := choice{slots, isRange, sticky, filtered}
	return c, err == nil && slots > 0 && c.chain() == name
}
