package table

import (
	"fmt"

	"github.com/google/nftables/userdata"
	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"
)

// readMarks returns the comments of our table's rules, by chain. It doesn't decode their expressions: the library fails
// at expressions about connections.
func (f family) readMarks(namespace int) (map[string][]string, error) {
	conn, err := netlink.Dial(unix.NETLINK_NETFILTER, &netlink.Config{NetNS: namespace})
	if err != nil {
		return nil, fmt.Errorf("open a netlink socket: %w", err)
	}
	defer conn.Close()
	request := attributes{f.number, unix.NFNETLINK_V0, 0, 0}
	request.text(unix.NFTA_RULE_TABLE, tableName)
	answer, err := conn.Execute(netlink.Message{Header: netlink.Header{
		Type:  netlink.HeaderType(unix.NFNL_SUBSYS_NFTABLES<<8 | unix.NFT_MSG_GETRULE),
		Flags: netlink.Request | netlink.Dump,
	}, Data: request})
	if err != nil {
		return nil, fmt.Errorf("list rules: %w", err)
	}
	marks := map[string][]string{}
	for i := range answer {
		chain, mark, err := readMark(answer[i].Data)
		if err != nil {
			return nil, fmt.Errorf("read a rule: %w", err)
		}
		marks[chain] = append(marks[chain], mark)
	}
	return marks, nil
}

func readMark(message []byte) (chain, mark string, err error) {
	decoder, err := netlink.NewAttributeDecoder(message[min(headerLen, len(message)):])
	if err != nil {
		return "", "", err
	}
	for decoder.Next() {
		switch decoder.Type() {
		case unix.NFTA_RULE_CHAIN:
			chain = decoder.String()
		case unix.NFTA_RULE_USERDATA:
			mark = comment(decoder.Bytes())
		}
	}
	return chain, mark, decoder.Err()
}

// comment returns the first text of a rule's user data. Others may have written anything there.
func comment(data []byte) string {
	if len(data) < 2 || userdata.Type(data[0]) != userdata.TypeComment || len(data) < 2+int(data[1]) || data[1] == 0 {
		return ""
	}
	return string(data[2 : 1+int(data[1])])
}
