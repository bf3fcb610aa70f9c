package table

import (
	"github.com/google/nftables"
	"github.com/google/nftables/userdata"
	"golang.org/x/sys/unix"
)

// Attributes that the libraries don't name, or name after another one with the same number.
const (
	fieldLen      = 1    // NFTA_SET_FIELD_LEN
	setExpression = 0x11 // NFTA_SET_EXPR
)

func (b *batch) addChain(f family, c *chain) {
	b.add(f, unix.NFT_MSG_NEWCHAIN, create, func(a *attributes) {
		a.text(unix.NFTA_CHAIN_TABLE, tableName)
		a.text(unix.NFTA_CHAIN_NAME, c.name)
		if c.hook == nil {
			return
		}
		a.nest(unix.NFTA_CHAIN_HOOK, func(a *attributes) {
			a.number(unix.NFTA_HOOK_HOOKNUM, uint32(*c.hook))
			a.number(unix.NFTA_HOOK_PRIORITY, uint32(c.priority))
		})
		a.text(unix.NFTA_CHAIN_TYPE, string(c.kind))
	})
}

// addRules adds a chain's rules. The rules come after all chains, because they name chains.
func (b *batch) addRules(f family, c *chain) {
	for i, mark := range c.marks() {
		b.add(f, unix.NFT_MSG_NEWRULE, create|unix.NLM_F_APPEND, func(a *attributes) {
			a.text(unix.NFTA_RULE_TABLE, tableName)
			a.text(unix.NFTA_RULE_CHAIN, c.name)
			a.nest(unix.NFTA_RULE_EXPRESSIONS, func(a *attributes) {
				for _, expression := range c.rules[i] {
					a.bytes(unix.NFTA_LIST_ELEM|nested, expression)
				}
			})
			a.bytes(unix.NFTA_RULE_USERDATA, userdata.AppendString(nil, userdata.TypeComment, mark))
		})
	}
}

// perMessage is how many elements a message has at most. The length of an attribute is a 16-bit number, and an IPv6 element
// takes up to 120 bytes.
const perMessage = 400

// change adds messages that add or remove elements of a set.
func (b *batch) change(f family, kind uint16, set set, places []place, what map[place]content) {
	for len(places) > 0 {
		n := min(len(places), perMessage)
		b.add(f, kind, create, func(a *attributes) {
			a.text(unix.NFTA_SET_ELEM_LIST_TABLE, tableName)
			a.text(unix.NFTA_SET_ELEM_LIST_SET, set.name)
			a.nest(unix.NFTA_SET_ELEM_LIST_ELEMENTS, func(a *attributes) {
				for _, at := range places[:n] {
					a.nest(unix.NFTA_LIST_ELEM, func(a *attributes) { a.element(at, what[at]) })
				}
			})
		})
		places = places[n:]
	}
}

func (a *attributes) element(at place, what content) {
	value := func(kind uint16, text string) {
		a.nest(kind, func(a *attributes) { a.bytes(unix.NFTA_DATA_VALUE, []byte(text)) })
	}
	value(unix.NFTA_SET_ELEM_KEY, at.key)
	if at.end != "" {
		value(nftables.NFTA_SET_ELEM_KEY_END, at.end)
	}
	if what.data != "" {
		value(unix.NFTA_SET_ELEM_DATA, what.data)
	}
	if what.chain != "" {
		a.nest(unix.NFTA_SET_ELEM_DATA, func(a *attributes) {
			a.nest(unix.NFTA_DATA_VERDICT, func(a *attributes) {
				a.number(unix.NFTA_VERDICT_CODE, gotoChain)
				a.text(unix.NFTA_VERDICT_CHAIN, what.chain)
			})
		})
	}
}

const gotoChain = 1<<32 - 4 // NFT_GOTO, which is -4

// write adds the messages of a change: removals come before additions, so that an element can be replaced.
func (b *batch) write(f family, c *change) {
	sets := f.sets()
	if c.rebuild {
		b.addTable(f) // so that there is a table to delete
		b.deleteTable(f)
		b.addTable(f)
		for i, set := range sets {
			b.addSet(f, set, uint32(i+1))
		}
	}
	for i := range c.chains {
		b.addChain(f, &c.chains[i])
	}
	for i := range c.chains {
		b.addRules(f, &c.chains[i])
	}
	for _, set := range sets {
		b.change(f, unix.NFT_MSG_DELSETELEM, set, c.remove[set.name], nil)
	}
	for _, set := range sets {
		b.change(f, unix.NFT_MSG_NEWSETELEM, set, c.add[set.name], c.want[set.name])
	}
}
