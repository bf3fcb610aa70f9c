package table

import (
	"github.com/google/nftables"
	"github.com/google/nftables/userdata"
	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"
)

// batch collects the messages of one transaction.
type batch struct{ messages []netlink.Message }

// add adds a message about our table of a family.
func (b *batch) add(f family, kind, flags uint16, fill func(*attributes)) {
	data := attributes{f.number, unix.NFNETLINK_V0, 0, 0}
	fill(&data)
	b.messages = append(b.messages, netlink.Message{Header: netlink.Header{
		Type:  netlink.HeaderType(unix.NFNL_SUBSYS_NFTABLES<<8 | kind),
		Flags: netlink.Request | netlink.HeaderFlags(flags),
	}, Data: data})
}

const create = unix.NLM_F_CREATE

func (b *batch) addTable(f family) {
	b.add(f, unix.NFT_MSG_NEWTABLE, create, func(a *attributes) { a.text(unix.NFTA_TABLE_NAME, tableName) })
}

func (b *batch) deleteTable(f family) {
	b.add(f, unix.NFT_MSG_DELTABLE, 0, func(a *attributes) { a.text(unix.NFTA_TABLE_NAME, tableName) })
}

func (b *batch) addSet(f family, s set, id uint32) {
	b.add(f, unix.NFT_MSG_NEWSET, create, func(a *attributes) {
		key := nftables.MustConcatSetType(s.key...)
		magic := key.GetNFTMagic()
		if s.interval {
			magic = nftables.TypeLLAddr.GetNFTMagic() // nft prints it as bytes, however many they are
		}
		a.text(unix.NFTA_SET_TABLE, tableName)
		a.text(unix.NFTA_SET_NAME, s.name)
		a.number(unix.NFTA_SET_FLAGS, s.flags())
		a.number(unix.NFTA_SET_KEY_TYPE, magic)
		a.number(unix.NFTA_SET_KEY_LEN, key.Bytes)
		a.number(unix.NFTA_SET_ID, id)
		if s.isVerdictMap() {
			a.number(unix.NFTA_SET_DATA_TYPE, unix.NFT_DATA_VERDICT)
			a.number(unix.NFTA_SET_DATA_LEN, 0)
		} else if len(s.value) > 0 {
			value := nftables.MustConcatSetType(s.value...)
			a.number(unix.NFTA_SET_DATA_TYPE, value.GetNFTMagic())
			a.number(unix.NFTA_SET_DATA_LEN, value.Bytes)
		}
		if s.isConcatenated() {
			a.nest(unix.NFTA_SET_DESC, s.describe)
		}
		// Without the byte order, nft prints numbers wrongly.
		a.bytes(unix.NFTA_SET_USERDATA, userdata.AppendUint32(nil, userdata.NFTNL_UDATA_SET_KEYBYTEORDER, 2))
		if s.counter {
			a.nest(setExpression, func(a *attributes) {
				a.text(unix.NFTA_EXPR_NAME, "counter")
				a.nest(unix.NFTA_EXPR_DATA, func(*attributes) {})
			})
		}
	})
}

func (s set) flags() uint32 {
	var flags uint32
	if s.isConcatenated() {
		flags |= nftables.NFT_SET_CONCAT
	}
	if s.interval {
		flags |= unix.NFT_SET_INTERVAL
	}
	if len(s.value) > 0 {
		flags |= unix.NFT_SET_MAP
	}
	return flags
}

// isConcatenated is true if the kernel knows the parts of a key.
func (s set) isConcatenated() bool { return len(s.key) > 1 && !s.interval }

// describe tells the length of each part of a key: nft crashes without it.
func (s set) describe(a *attributes) {
	a.nest(nftables.NFTA_SET_DESC_CONCAT, func(a *attributes) {
		for _, part := range s.key {
			a.nest(unix.NFTA_LIST_ELEM, func(a *attributes) { a.number(fieldLen, part.Bytes) })
		}
	})
}
