package table

import (
	"slices"

	"github.com/google/nftables/expr"
	"golang.org/x/sys/unix"
)

// rule is a rule as the kernel takes it: encoded expressions.
type rule [][]byte

func (f family) rule(parts ...[]expr.Any) rule {
	var r rule
	for _, e := range slices.Concat(parts...) {
		encoded, err := expr.Marshal(f.number, e)
		if err != nil {
			panic("an expression of ours can't be encoded: " + err.Error()) // no input leads here
		}
		r = append(r, encoded)
	}
	return r
}

func one(e expr.Any) []expr.Any { return []expr.Any{e} }

func drop() []expr.Any { return one(&expr.Verdict{Kind: expr.VerdictDrop}) }

func accept() []expr.Any { return one(&expr.Verdict{Kind: expr.VerdictAccept}) }

func continueAt(chain string) []expr.Any {
	return one(&expr.Verdict{Kind: expr.VerdictGoto, Chain: chain})
}

// destinedToUs continues for packets to a mux's address.
func (f family) destinedToUs() []expr.Any {
	return []expr.Any{f.loadAddress(firstRegister, f.destination), in(setAddresses)}
}

// dispatch are the rules for a packet that begins a flow to a mux's address. A backend's answer may belong to a
// connection of another gateway. It is dropped, since a RST would kill that connection. A SYN is never an answer,
// whoever sends it: otherwise a tenant with an endpoint that has a client's address and port could shut that client
// out.
func (f family) dispatch() []rule {
	return []rule{
		f.rule(isReply(), accept()),
		f.rule(isSYN(), continueAt(chainRequests)),
		f.rule(f.loadSender(), one(in(setReplies)), drop()),
		f.rule(continueAt(chainRequests)),
	}
}

// requests are the rules that find the service of a request.
func (f family) requests() []rule {
	return []rule{
		f.rule(f.loadService(), one(jump(setServices))),
		f.rule(f.loadService(), one(jump(setRanges))),
		f.rule(isSYN(), one(&expr.Reject{Type: unix.NFT_REJECT_TCP_RST})),
		f.rule(one(&expr.Counter{}), drop()),
	}
}

// isReply continues for replies of tracked connections. They go to a mux's address only where this machine itself is
// the client: it connects to its own address from that address.
func isReply() []expr.Any {
	const reply = 1
	return []expr.Any{
		&expr.Ct{Key: expr.CtKeyDIRECTION, Register: firstRegister},
		&expr.Cmp{Op: expr.CmpOpEq, Register: firstRegister, Data: []byte{reply}},
	}
}

// isSYN continues for TCP packets with SYN, and without ACK, RST and FIN.
func isSYN() []expr.Any {
	const flagsAt, syn, fin, rst, ack = 13, 0x02, 0x01, 0x04, 0x10
	return []expr.Any{
		&expr.Meta{Key: expr.MetaKeyL4PROTO, Register: firstRegister},
		&expr.Cmp{Op: expr.CmpOpEq, Register: firstRegister, Data: []byte{unix.IPPROTO_TCP}},
		&expr.Payload{DestRegister: firstRegister, Base: expr.PayloadBaseTransportHeader, Offset: flagsAt, Len: 1},
		&expr.Bitwise{SourceRegister: firstRegister, DestRegister: firstRegister, Len: 1, Mask: []byte{syn | fin | rst | ack},
			Xor: []byte{0}},
		&expr.Cmp{Op: expr.CmpOpEq, Register: firstRegister, Data: []byte{syn}},
	}
}

// guard are the rules behind the translation: a packet that still goes to a mux's address must not reach this machine's
// own services. Neighbour discovery isn't tracked, so the chains that translate don't meet it, and the guard lets it
// through.
func (f family) guard() []rule {
	rules := []rule{f.rule(isReply(), accept()), f.rule(f.destinedToUs(), one(&expr.Counter{}), drop())}
	if f.number != unix.NFPROTO_IPV6 {
		return rules
	}
	return append([]rule{f.rule(isNeighbourDiscovery(), accept())}, rules...)
}

func isNeighbourDiscovery() []expr.Any {
	const solicitation, advertisement = 135, 136
	return []expr.Any{
		&expr.Meta{Key: expr.MetaKeyL4PROTO, Register: firstRegister},
		&expr.Cmp{Op: expr.CmpOpEq, Register: firstRegister, Data: []byte{unix.IPPROTO_ICMPV6}},
		&expr.Payload{DestRegister: firstRegister, Base: expr.PayloadBaseTransportHeader, Offset: 0, Len: 1},
		&expr.Cmp{Op: expr.CmpOpGte, Register: firstRegister, Data: []byte{solicitation}},
		&expr.Cmp{Op: expr.CmpOpLte, Register: firstRegister, Data: []byte{advertisement}},
	}
}

// translateSource gives requests the source address that backends must see. The port isn't specified, so the kernel
// keeps the client's where it is free, and takes another one where two clients share it.
func (f family) translateSource() []rule {
	translate := f.rule(one(find(setSourcesSeen)),
		one(&expr.NAT{Type: expr.NATTypeSourceNAT, Family: uint32(f.number), RegAddrMin: firstRegister}))
	masquerade := f.rule(one(in(setMasqueraded)), one(&expr.Masq{}))
	return []rule{slices.Concat(rule{f.loadOriginal()}, masquerade), slices.Concat(rule{f.loadOriginal()}, translate)}
}

// firstSentToUs continues for packets of connections whose client sent to a mux's address, in both directions.
func (f family) firstSentToUs(then []expr.Any) rule {
	return slices.Concat(rule{f.loadOriginal()}, f.rule(one(in(setAddresses)), then))
}

// traffic are the rules that count each packet of a mux: a set counts the packets that it finds an element for.
func (f family) traffic() []rule {
	load := slices.Concat(rule{f.loadOriginal()},
		f.rule(one(&expr.Meta{Key: expr.MetaKeyL4PROTO, Register: f.protocolRegister()})), rule{f.loadOriginalPort()})
	return []rule{
		slices.Concat(load, f.rule(one(in(setTraffic)), accept())),
		slices.Concat(load, f.rule(one(in(setRangeTraffic)))),
	}
}
