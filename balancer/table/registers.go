package table

import (
	"github.com/google/nftables/expr"
	"golang.org/x/sys/unix"
)

// A key is loaded into consecutive 32-bit registers from firstRegister on: address, protocol, port, then the slot. In a
// range, the slot is before the port. The hash is computed from registers behind them. The client's address is loaded
// behind a list.
const (
	firstRegister = unix.NFT_REG32_00
	verdict       = 0 // NFT_REG_VERDICT
)

func (f family) protocolRegister() uint32 { return firstRegister + f.words() }
func (f family) portRegister() uint32     { return f.protocolRegister() + 1 }
func (f family) behindKey() uint32        { return f.portRegister() + 1 }

func (f family) loadAddress(register, offset uint32) expr.Any {
	return &expr.Payload{DestRegister: register, Base: expr.PayloadBaseNetworkHeader, Offset: offset, Len: f.addressLen}
}

const (
	sourcePort      = 0 // where the headers of TCP, UDP and SCTP have the ports
	destinationPort = 2
	portLen         = 2
)

func loadPort(register, offset uint32) expr.Any {
	return &expr.Payload{DestRegister: register, Base: expr.PayloadBaseTransportHeader, Offset: offset, Len: portLen}
}

// loadService loads address . protocol . port of a packet's destination.
func (f family) loadService() []expr.Any { return f.loadEnd(f.destination, destinationPort) }

// loadSender loads address . protocol . port of a packet's source.
func (f family) loadSender() []expr.Any { return f.loadEnd(f.sourceOffset, sourcePort) }

func (f family) loadEnd(address, port uint32) []expr.Any {
	return []expr.Any{
		f.loadAddress(firstRegister, address),
		&expr.Meta{Key: expr.MetaKeyL4PROTO, Register: f.protocolRegister()},
		loadPort(f.portRegister(), port),
	}
}

// seed of the hash over clients. It is the same on every gateway and in every version, so that a connection finds its
// backend again on another gateway.
const seed = 0x73766d78

// loadSlot loads the slot of a connection: a hash of the client's address and, unless the service is sticky, of its
// port.
func (f family) loadSlot(register, slots uint32, sticky bool) []expr.Any {
	client := f.behindKey() + 1
	load := []expr.Any{f.loadAddress(client, f.sourceOffset)}
	length := f.addressLen
	if !sticky {
		load = append(load, loadPort(client+f.words(), sourcePort))
		length += alignment
	}
	return append(load, &expr.Hash{SourceRegister: client, DestRegister: register, Length: length,
		Modulus: slots, Seed: seed, Type: expr.HashTypeJenkins})
}

// loadOriginal loads the address that the connection's client sent to, also of a translated packet. The library knows
// only older keys. nft can't print them, and aborts.
func (f family) loadOriginal() []byte {
	if f.number == unix.NFPROTO_IPV6 {
		return loadFirst(unix.NFT_CT_DST_IP6, firstRegister)
	}
	return loadFirst(unix.NFT_CT_DST_IP, firstRegister)
}

// loadOriginalPort loads the port that the connection's client sent to.
func (f family) loadOriginalPort() []byte { return loadFirst(unix.NFT_CT_PROTO_DST, f.portRegister()) }

// loadFirst loads a part of the direction in which a connection began.
func loadFirst(key, register uint32) []byte {
	const original = 0
	var e attributes
	e.text(unix.NFTA_EXPR_NAME, "ct")
	e.nest(unix.NFTA_EXPR_DATA, func(e *attributes) {
		e.number(unix.NFTA_CT_KEY, key)
		e.number(unix.NFTA_CT_DREG, register)
		e.bytes(unix.NFTA_CT_DIRECTION, []byte{original})
	})
	return e
}

// in continues if the set has the loaded key.
func in(set string) expr.Any {
	return &expr.Lookup{SourceRegister: firstRegister, SetName: set}
}

// isInListOf continues if the client is in a network of the list that a map has for the loaded service.
//
// nft aborts when it prints a key whose first register has a map's value. So the value begins with a word that isn't
// used, and the key begins behind it, where nft remembers the first bytes of the packet. The kernel never sees those:
// the map's value is written over them.
func (f family) isInListOf(lists string) []expr.Any {
	const value, list, client = firstRegister + 6, firstRegister + 7, firstRegister + 11
	return []expr.Any{
		&expr.Payload{DestRegister: list, Base: expr.PayloadBaseNetworkHeader, Len: listLen},
		&expr.Lookup{SourceRegister: firstRegister, DestRegister: value, IsDestRegSet: true, SetName: lists},
		f.loadAddress(client, f.sourceOffset),
		&expr.Lookup{SourceRegister: list, SetName: setNetworks},
	}
}

// find replaces the loaded key with its value in a map.
func find(set string) expr.Any {
	return &expr.Lookup{SourceRegister: firstRegister, DestRegister: firstRegister, IsDestRegSet: true, SetName: set}
}

// jump goes to the chain that a verdict map has for the loaded key.
func jump(set string) expr.Any {
	return &expr.Lookup{SourceRegister: firstRegister, DestRegister: verdict, IsDestRegSet: true, SetName: set}
}
