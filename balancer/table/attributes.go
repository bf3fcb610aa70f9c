package table

import "encoding/binary"

const (
	alignment = 4
	headerLen = 4
	nested    = 1 << 15 // NLA_F_NESTED
)

// attributes are netlink attributes in their encoded form. Every attribute starts at a multiple of four bytes.
type attributes []byte

func (a *attributes) bytes(kind uint16, value []byte) {
	*a = binary.NativeEndian.AppendUint16(*a, uint16(headerLen+len(value)))
	*a = binary.NativeEndian.AppendUint16(*a, kind)
	*a = append(*a, value...)
	a.pad()
}

func (a *attributes) text(kind uint16, value string) { a.bytes(kind, append([]byte(value), 0)) }

func (a *attributes) number(kind uint16, value uint32) {
	a.bytes(kind, binary.BigEndian.AppendUint32(nil, value))
}

// nest adds an attribute whose value are the attributes that fill adds.
func (a *attributes) nest(kind uint16, fill func(*attributes)) {
	start := len(*a)
	*a = append(*a, make([]byte, headerLen)...)
	fill(a)
	binary.NativeEndian.PutUint16((*a)[start:], uint16(len(*a)-start))
	binary.NativeEndian.PutUint16((*a)[start+2:], kind|nested)
}

func (a *attributes) pad() {
	for len(*a)%alignment != 0 {
		*a = append(*a, 0)
	}
}
