package table

import (
	"bytes"
	"slices"

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

// deleteChain deletes a chain with its rules.
func (b *batch) deleteChain(f family, name string) {
	b.add(f, unix.NFT_MSG_DELCHAIN, 0, func(a *attributes) {
		a.text(unix.NFTA_CHAIN_TABLE, tableName)
		a.text(unix.NFTA_CHAIN_NAME, name)
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

// perMessage is how many elements a message has at most. The length of an attribute is a 16-bit number, and an IPv6
// element takes up to roomOfElement bytes.
const (
	perMessage    = 300
	roomOfElement = 160
)

// change adds messages that add or remove elements of a set.
func (b *batch) change(f family, kind uint16, set set, places []place, what map[place]content) {
	for len(places) > 0 {
		n := min(len(places), perMessage)
		b.add(f, kind, create, func(a *attributes) {
			*a = slices.Grow(*a, n*roomOfElement)
			a.text(unix.NFTA_SET_ELEM_LIST_TABLE, tableName)
			a.text(unix.NFTA_SET_ELEM_LIST_SET, set.name)
			a.nest(unix.NFTA_SET_ELEM_LIST_ELEMENTS, func(a *attributes) {
				for _, at := range places[:n] {
					a.element(at.key, what[at], 0)
					if at.end != "" {
						a.element(successor(at.end), content{}, unix.NFT_SET_ELEM_INTERVAL_END)
					}
				}
			})
		})
		places = places[n:]
	}
}

// element adds an element. To the kernel, a range is two elements: the one at its first key, and one that ends it.
func (a *attributes) element(key string, what content, flags uint32) {
	a.nest(unix.NFTA_LIST_ELEM, func(a *attributes) {
		if flags != 0 {
			a.number(unix.NFTA_SET_ELEM_FLAGS, flags)
		}
		value := func(kind uint16, text string) {
			a.nest(kind, func(a *attributes) { a.bytes(unix.NFTA_DATA_VALUE, []byte(text)) })
		}
		value(unix.NFTA_SET_ELEM_KEY, key)
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
	})
}

// successor returns the key that follows a key in the order of bytes. Each key of ours has one: its first byte is one
// of an address, or of a list's name.
func successor(key string) string {
	next := []byte(key)
	for i := len(next) - 1; i >= 0; i-- {
		if next[i]++; next[i] != 0 {
			break
		}
	}
	return string(next)
}

// predecessor returns the key before a key.
func predecessor(key []byte) []byte {
	before := bytes.Clone(key)
	for i := len(before) - 1; i >= 0; i-- {
		if before[i]--; before[i] != 255 {
			break
		}
	}
	return before
}

const gotoChain = 1<<32 - 4 // NFT_GOTO, which is -4

// write adds the messages of a change: removals come before additions, so that an element can be replaced. Chains go
// last, when no element leads to them.
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
	for _, name := range c.unused {
		b.deleteChain(f, name)
	}
}
