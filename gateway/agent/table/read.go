package table

import (
	"errors"
	"fmt"
	"slices"

	"github.com/google/nftables"
	"github.com/google/nftables/userdata"
	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"
)

// reader reads our table of one family.
type reader struct {
	family family
	conn   *nftables.Conn
	table  *nftables.Table
}

// read returns what the kernel holds for a family. A table that was changed by others isn't intact, and has no elements: it is
// replaced as a whole.
func (f family) read(conn *nftables.Conn) (*state, error) {
	r := reader{f, conn, &nftables.Table{Name: tableName, Family: nftables.TableFamily(f.number)}}
	have, err := r.skeleton()
	if err != nil || !have.intact {
		return have, err
	}
	for _, set := range f.sets() {
		list, err := conn.GetSetElements(&nftables.Set{Table: r.table, Name: set.name})
		if err != nil {
			return nil, fmt.Errorf("read set %s: %w", set.name, err)
		}
		for i := range list {
			have.elements.add(set.name, place{string(list[i].Key), string(list[i].KeyEnd)}, contentOf(set, list[i].Val))
		}
	}
	return have, nil
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
	for _, c := range chains {
		if c.Table.Name != tableName {
			continue
		}
		wanted, ok := known[c.Name]
		if choice, parsed := parseChoice(c.Name); !ok && parsed {
			wanted, ok = chain{name: c.Name, rules: choice.rules(r.family)}, true
		}
		marks, err := r.marks(c)
		if err != nil {
			return nil, err
		}
		if !ok || !slices.Equal(marks, wanted.marks()) {
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

// marks returns the comments of a chain's rules.
func (r *reader) marks(c *nftables.Chain) ([]string, error) {
	rules, err := r.conn.GetRules(r.table, c)
	if err != nil && !isGone(err) {
		return nil, fmt.Errorf("read chain %s: %w", c.Name, err)
	}
	marks := make([]string, len(rules))
	for i, rule := range rules {
		marks[i], _ = userdata.GetString(rule.UserData, userdata.TypeComment)
	}
	return marks, nil
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

func isGone(err error) bool { return errors.Is(err, unix.ENOENT) }
