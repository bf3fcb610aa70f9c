package table

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/google/nftables"
	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"
)

// reader reads our table of one family.
type reader struct {
	family    family
	namespace int
	conn      *nftables.Conn
	table     *nftables.Table
}

func newReader(f family, namespace int, conn *nftables.Conn) *reader {
	return &reader{f, namespace, conn, &nftables.Table{Name: tableName, Family: nftables.TableFamily(f.number)}}
}

// read returns what the kernel holds for a family. If others changed the table, the state isn't intact, and has no
// elements: Apply then replaces the table as a whole.
func (r *reader) read() (*state, error) {
	have, err := r.skeleton()
	if err != nil || !have.intact {
		return have, err
	}
	for _, set := range r.family.sets() {
		list, err := r.elements(set.name)
		if err != nil {
			return nil, err
		}
		for i := range list {
			have.elements.add(set.name, place{string(list[i].Key), string(list[i].KeyEnd)}, contentOf(set, list[i].Val))
		}
	}
	return have, nil
}

// elements reads a set. Each range is one element, whose KeyEnd is its last key. Elements that aren't as we write them
// become ones that nobody wants.
func (r *reader) elements(set string) ([]nftables.SetElement, error) {
	list, err := r.conn.GetSetElements(&nftables.Set{Table: r.table, Name: set})
	if err != nil {
		return nil, fmt.Errorf("read set %s: %w", set, err)
	}
	if !slices.ContainsFunc(list, func(e nftables.SetElement) bool { return e.IntervalEnd }) {
		return list, nil
	}
	slices.SortFunc(list, func(a, b nftables.SetElement) int {
		switch by := bytes.Compare(a.Key, b.Key); {
		case by != 0 || a.IntervalEnd == b.IntervalEnd:
			return by
		case a.IntervalEnd: // a range may end where the next one begins
			return -1
		}
		return 1
	})
	var ranges []nftables.SetElement
	for _, e := range list {
		if !e.IntervalEnd {
			ranges = append(ranges, e)
		} else if n := len(ranges); n > 0 && ranges[n-1].KeyEnd == nil {
			ranges[n-1].KeyEnd = predecessor(e.Key)
		}
	}
	return ranges, nil
}

// skeleton reads chains, rules and the names of sets.
func (r *reader) skeleton() (*state, error) {
	have := &state{chains: map[string]bool{}, elements: elements{}}
	chains, err := r.conn.ListChainsOfTableFamily(r.table.Family)
	if err != nil {
		return nil, fmt.Errorf("list chains: %w", err)
	}
	known := map[string]chain{}
	for _, c := range r.family.baseChains() {
		known[c.name] = c
	}
	marks, err := r.family.readMarks(r.namespace)
	if err != nil {
		return nil, err
	}
	for _, c := range chains {
		if c.Table.Name != tableName {
			continue
		}
		wanted, ok := known[c.Name]
		if choice, parsed := parseChoice(c.Name); !ok && parsed {
			wanted, ok = chain{name: c.Name, rules: choice.rules(r.family)}, true
		}
		if !ok || !slices.Equal(marks[c.Name], wanted.marks()) {
			return have, nil
		}
		have.chains[c.Name] = true
	}
	for name := range known {
		if !have.chains[name] {
			return have, nil
		}
	}
	have.intact, err = r.hasSets()
	return have, err
}

func (r *reader) hasSets() (bool, error) {
	list, err := r.conn.GetSets(r.table)
	if err != nil {
		return false, fmt.Errorf("list sets: %w", err)
	}
	for _, wanted := range r.family.sets() {
		if !slices.ContainsFunc(list, func(s *nftables.Set) bool { return s.Name == wanted.name }) {
			return false, nil
		}
	}
	return true, nil
}

// contentOf returns what an element leads to. The library leaves verdicts encoded.
func contentOf(s set, value []byte) content {
	if !s.isVerdictMap() {
		return content{data: string(value)}
	}
	decoder, err := netlink.NewAttributeDecoder(value)
	if err != nil {
		return content{}
	}
	var what content
	for decoder.Next() {
		if decoder.Type() == unix.NFTA_VERDICT_CHAIN {
			what.chain = decoder.String()
		}
	}
	return what
}
