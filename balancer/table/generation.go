package table

import (
	"encoding/binary"
	"fmt"

	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"
)

// Generation returns the number of the namespace's last transaction. Each transaction of any process gets another
// number. An equal number proves that no table changed. Asking for the number costs one small message.
func (k *Kernel) Generation() (uint32, error) {
	conn, err := netlink.Dial(unix.NETLINK_NETFILTER, &netlink.Config{NetNS: k.namespace})
	if err != nil {
		return 0, fmt.Errorf("open a netlink socket: %w", err)
	}
	defer conn.Close()
	answer, err := conn.Execute(netlink.Message{Header: netlink.Header{
		Type:  netlink.HeaderType(unix.NFNL_SUBSYS_NFTABLES<<8 | unix.NFT_MSG_GETGEN),
		Flags: netlink.Request,
	}, Data: []byte{unix.AF_UNSPEC, unix.NFNETLINK_V0, 0, 0}})
	if err != nil {
		return 0, fmt.Errorf("read the generation of nftables: %w", err)
	}
	for i := range answer {
		if number, found := readGeneration(answer[i].Data); found {
			return number, nil
		}
	}
	return 0, fmt.Errorf("read the generation of nftables: %d answers without a number", len(answer))
}

func readGeneration(data []byte) (uint32, bool) {
	if len(data) < headerLen {
		return 0, false
	}
	decoder, err := netlink.NewAttributeDecoder(data[headerLen:])
	if err != nil {
		return 0, false
	}
	decoder.ByteOrder = binary.BigEndian
	for decoder.Next() {
		if decoder.Type() == unix.NFTA_GEN_ID {
			return decoder.Uint32(), decoder.Err() == nil
		}
	}
	return 0, false
}
