package plan

// External-dns takes DNS names from a channel itself, too: from annotations of its own. They are judged by the mux's
// allowed-hostnames. A channel's annotations aren't ours to change, so a newcomer with a name that isn't allowed gets no
// ports and no address: external-dns publishes a name only for an address. An incumbent keeps what it has, because it may
// be older than this rule, and is told.

// judgeDirect notes each name that external-dns may not take from an incumbent.
func (p *pass) judgeDirect(c *member) {
	forbidden, _ := p.allowed.forbidden(c) // an incumbent keeps names that are unread
	for _, name := range forbidden {
		c.notes = append(c.notes, note{reason: HostnameNotAllowed, denied: denial{name: name.Name, key: name.Key}})
	}
}

// refusesDirect refuses a newcomer one of whose names external-dns may not take.
func (p *pass) refusesDirect(c *member) bool {
	forbidden, unread := p.allowed.forbidden(c)
	if unread {
		c.reason, c.message = HostnameNotAllowed, textTooManyDirect(c.Direct[0].Key, p.allowed.most)
		return true
	}
	if len(forbidden) == 0 {
		return false
	}
	c.reason, c.message = HostnameNotAllowed, textDirect(forbidden[0].Key, forbidden[0].Name, p.w.Mux)
	return true
}
