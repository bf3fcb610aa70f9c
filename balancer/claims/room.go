package claims

// Room in a ConfigMap. The API server takes 1 MiB.
//
//	MuxRoom      800 KiB   for the claims of muxes. Beyond it, no mux gets an address that it doesn't have
//	MaxReleased  1,000     claims that are in their grace at a time. A released claim is 36 bytes longer than a held one
//	MaxRanges    500       ranges of addresses in all pools together. A range is at most 82 bytes long
//	SizeLimit   1020 KiB   for all. The rest is for gateways, seats, and backends that are down
//
// So claims can always be released, however many muxes there are.
const (
	MuxRoom     = 800 << 10
	MaxReleased = 1000
	MaxRanges   = 500
	SizeLimit   = 1020 << 10

	muxLength     = len(`{"namespace":"","name":"","uid":"","addresses":[],"seat":255},`)
	addressLength = len(`"",`)
)

// Length is how many bytes of MuxRoom the claims of muxes take. It counts a seat of three digits for each claim, and no
// release.
func (c *Claims) Length() int {
	length := 0
	for i := range c.Muxes {
		length += c.Muxes[i].Length()
	}
	return length
}

// Length is how many bytes of MuxRoom the claim takes.
func (m *Mux) Length() int {
	length := muxLength + len(m.Key.Namespace) + len(m.Key.Name) + len(m.UID)
	for _, a := range m.Addresses {
		length += addressLength + len(a.String())
	}
	return length
}
