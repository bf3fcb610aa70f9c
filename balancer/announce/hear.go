package announce

import (
	"fmt"
	"net/netip"
	"slices"
	"time"

	"nowake.ai/svc-lb-mux/balancer/vrrp"
)

func (a *Announcer) isSix() bool { return a.wire != nil && a.wire.source.Is6() }

// send sends an advert. After five adverts in a row that reached nobody, a refresh opens the socket again. One peer
// that this machine's firewall doesn't know yet must not make this gateway give up its seats.
func (a *Announcer) send(s *seat, advert *vrrp.Advert) {
	if a.wire == nil {
		return
	}
	isSent, err := a.wire.send(advert, s.destinations(a.Unicast, a.wire.source))
	a.tell(NoSocket, err)
	if isSent {
		a.sendErrors = 0
		return
	}
	const patience = 5
	if a.sendErrors++; a.sendErrors >= patience {
		a.refreshAt = time.Now()
	}
}

func (a *Announcer) receiveAll() {
	for {
		select {
		case h := <-a.adverts:
			a.receive(h)
		default:
			return
		}
	}
}

// receive passes an advert to the router of its seat.
func (a *Announcer) receive(h heard) {
	s := a.seats[h.advert.RouterID]
	if s == nil || a.wire == nil || h.source.Is4() != a.wire.source.Is4() {
		return
	}
	if !a.isOurs(s, &h) {
		return
	}
	now, was := time.Now(), s.router.State
	var actions []vrrp.Action
	s.router, actions = s.router.Receive(now, &h.advert, h.source)
	if isLone(&s.Seat) && s.router.State == vrrp.Backup && h.advert.Priority > 0 && !s.isTaken {
		a.Log.Warnw("Another gateway holds a seat that the claims give to this gateway alone", "routerID", s.RouterID,
			"gateway", h.source)
		s.isTaken = true
		a.sync()
	}
	a.carryOut(s, actions)
	if was == vrrp.Active && s.router.State == vrrp.Active && h.advert.Priority > 0 && s.hellos > 1 {
		s.announceAgain(now) // the other gateway held the seat too, and neighbours may have learnt its MAC address
	}
}

// isOurs is true for an advert of a gateway of this group. It records a fault for any other advert, and for a sender
// that the claims don't name.
func (a *Announcer) isOurs(s *seat, h *heard) bool {
	expected := SeatAddress(a.Group, s.RouterID, h.source.Is6())
	if !slices.Equal(h.advert.Addresses, []netip.Addr{expected}) {
		a.stranger(ForeignGroup, s.RouterID, h, fmt.Sprintf("a router at %s, which isn't a gateway of %s, uses router ID "+
			"%d on interface %s: give it another router ID, or this pool another range of them", h.source, a.Group, s.RouterID,
			a.Interface))
		return false
	}
	if len(s.Peers) > 0 && !slices.Contains(s.Peers, h.source) && !h.source.IsLinkLocalUnicast() {
		a.stranger(UnknownPeer, s.RouterID, h, fmt.Sprintf("a gateway at %s sends adverts of router ID %d, and the claims "+
			"name no gateway with that address: if it is another cluster's, give one of the two another router ID", h.source,
			s.RouterID))
	}
	return true
}

func (a *Announcer) stranger(reason string, id uint8, h *heard, message string) {
	key := fmt.Sprint(reason, id, h.source)
	if _, known := a.strangers[key]; !known {
		const most = 16
		if len(a.strangers) >= most {
			return
		}
		a.Log.Warn(message)
	}
	a.strangers[key] = stranger{Fault{reason, message}, time.Now()}
}
