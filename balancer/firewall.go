package balancer

import (
	"fmt"
	"slices"

	"github.com/google/nftables"
	"github.com/google/nftables/expr"
	"github.com/google/nftables/xt"
)

// BlockedChains returns the chains that keep translated connections from their backends, each with the command that
// mends it. Docker and some firewalls drop all forwarded packets that no rule accepts. The namespace is a file
// descriptor; 0 is the process's own.
//
// It follows the rules for a packet of a translated connection of which nothing else is known. So it takes no account
// of a rule with another condition, such as a network or an interface. It doesn't see rules of iptables-legacy.
func BlockedChains(namespace int) ([]BlockedChain, error) {
	conn, err := nftables.New(nftables.WithNetNSFd(namespace))
	if err != nil {
		return nil, fmt.Errorf("read the machine's nftables: %w", err)
	}
	chains, err := conn.ListChainsOfTableFamily(nftables.TableFamilyUnspecified)
	if err != nil {
		return nil, fmt.Errorf("list the machine's chains: %w", err)
	}
	var blocked []BlockedChain
	for _, c := range chains {
		if familyName(c.Table.Family) == "" || c.Hooknum == nil || *c.Hooknum != *nftables.ChainHookForward {
			continue
		}
		f := follower{conn: conn, table: c.Table, seen: map[string]bool{}}
		end, err := f.follow(c.Name)
		if err != nil {
			return nil, fmt.Errorf("read chain %s of table %s: %w", c.Name, c.Table.Name, err)
		}
		if end == drops || end == goesOn && c.Policy != nil && *c.Policy == nftables.ChainPolicyDrop {
			blocked = append(blocked, BlockedChain{c.Table.Family, c.Table.Name, c.Name})
		}
	}
	return blocked, nil
}

// BlockedChain is a chain that drops packets of translated connections.
type BlockedChain struct {
	Family nftables.TableFamily
	Table  string
	Chain  string
}

// isSix is true if the chain sees only IPv6.
func (b *BlockedChain) isSix() bool { return b.Family == nftables.TableFamilyIPv6 }

// remedy returns a command that accepts packets of translated connections. In a table of iptables, a rule of nft would
// make iptables fail.
func (b *BlockedChain) remedy() string {
	switch {
	case b.Table == "filter" && b.Chain == "FORWARD" && b.isSix():
		return "ip6tables -I FORWARD -m conntrack --ctstate DNAT -j ACCEPT"
	case b.Table == "filter" && b.Chain == "FORWARD" && b.Family == nftables.TableFamilyIPv4:
		return "iptables -I FORWARD -m conntrack --ctstate DNAT -j ACCEPT"
	}
	return fmt.Sprintf("nft insert rule %s %s %s ct status dnat accept", familyName(b.Family), b.Table, b.Chain)
}

// familyName returns nft's name of a family that sees IP packets; "" for another family.
func familyName(family nftables.TableFamily) string {
	switch family {
	case nftables.TableFamilyIPv4:
		return "ip"
	case nftables.TableFamilyIPv6:
		return "ip6"
	case nftables.TableFamilyINet:
		return "inet"
	}
	return ""
}

// ending is what a chain does with a packet.
type ending int

const (
	goesOn ending = iota
	accepts
	drops
	returns
)

// follower follows the rules of a table.
type follower struct {
	conn  *nftables.Conn
	table *nftables.Table
	seen  map[string]bool
}

func (f *follower) follow(chain string) (ending, error) {
	if f.seen[chain] {
		return goesOn, nil
	}
	f.seen[chain] = true
	rules, err := f.conn.GetRules(f.table, &nftables.Chain{Name: chain})
	if err != nil {
		return goesOn, err
	}
	for _, r := range rules {
		end, next, applies := verdictOf(r.Exprs)
		if !applies {
			continue
		}
		if next != "" {
			if end, err = f.follow(next); err != nil {
				return goesOn, err
			}
		}
		switch {
		case end == returns:
			return goesOn, nil
		case end != goesOn || isGoto(r.Exprs):
			return end, nil
		}
	}
	return goesOn, nil
}

// isGoto is true for a rule whose chain doesn't come back.
func isGoto(parts []expr.Any) bool {
	return slices.ContainsFunc(parts, func(part expr.Any) bool {
		verdict, is := part.(*expr.Verdict)
		return is && verdict.Kind == expr.VerdictGoto
	})
}

// verdictOf returns what a rule does with each packet of a translated connection: where it ends, or the chain to go on
// in. It returns false for a rule that has another condition, or no verdict.
func verdictOf(parts []expr.Any) (end ending, next string, applies bool) {
	for _, part := range parts {
		switch p := part.(type) {
		case *expr.Counter, *expr.Log:
		case *expr.Ct:
			if p.Key != expr.CtKeySTATUS {
				return goesOn, "", false
			}
		case *expr.Bitwise:
			if len(p.Mask) != 4 || p.Mask[0] != ctStatusDNAT { // the status is a number of the machine's own byte order
				return goesOn, "", false
			}
		case *expr.Cmp:
			if p.Op != expr.CmpOpNeq || slices.ContainsFunc(p.Data, func(b byte) bool { return b != 0 }) {
				return goesOn, "", false
			}
		case *expr.Match:
			if p.Name != "comment" && !isTranslated(p) {
				return goesOn, "", false
			}
		case *expr.Reject:
			return drops, "", true
		case *expr.Target:
			return drops, "", p.Name == "REJECT"
		case *expr.Verdict:
			switch p.Kind {
			case expr.VerdictAccept:
				return accepts, "", true
			case expr.VerdictDrop:
				return drops, "", true
			case expr.VerdictReturn:
				return returns, "", true
			case expr.VerdictJump, expr.VerdictGoto:
				return goesOn, p.Chain, true
			}
			return goesOn, "", false
		default:
			return goesOn, "", false
		}
	}
	return goesOn, "", false
}

// IPS_DST_NAT of the kernel, and its pendants in the conntrack match of iptables.
const (
	ctStatusDNAT = 0x20
	xtState      = 1 << 0
	xtStateAlias = 1 << 13
	xtStateDNAT  = 1 << 7
)

// isTranslated is true for a match "-m conntrack --ctstate DNAT", with or without other states.
func isTranslated(m *expr.Match) bool {
	info, ok := m.Info.(*xt.ConntrackMtinfo3)
	return ok && info.MatchFlags&^xtStateAlias == xtState && info.InvertFlags == 0 && info.StateMask&xtStateDNAT != 0
}
