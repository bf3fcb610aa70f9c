package announce

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"
)

// refresh looks at the interface, opens or closes the socket for adverts, and renews addresses.
func (a *Announcer) refresh(now time.Time) {
	a.refreshAt = now.Add(refreshEvery)
	device, err := net.InterfaceByName(a.Interface)
	if err != nil {
		a.tell(NoInterface, fmt.Errorf("interface %s can't be used: %w", a.Interface, err))
		a.device = nil
		a.closeWire()
		return
	}
	a.tell(NoInterface, nil)
	a.device = device
	if a.Mode == None {
		return
	}
	a.refreshWire(now)
	a.sync()
}

// refreshWire keeps the socket open while the interface runs. It opens the socket again if the interface or its address
// changed, or after several errors.
func (a *Announcer) refreshWire(now time.Time) {
	if a.device.Flags&net.FlagUp == 0 || a.device.Flags&net.FlagRunning == 0 {
		a.tell(NoSocket, fmt.Errorf("interface %s has no link: no seat is held that another gateway can take", a.Interface))
		a.closeWire()
		return
	}
	source, err := a.sourceAddress()
	if err != nil {
		a.tell(NoSocket, err)
		a.closeWire()
		return
	}
	const patience = 5
	if w := a.wire; w != nil && w.source == source && w.device.Index == a.device.Index && a.sendErrors < patience {
		return
	}
	a.closeWire()
	w, err := openWire(a.device, source)
	a.tell(NoSocket, err)
	if err != nil {
		return
	}
	a.wire, a.sendErrors = w, 0
	go a.listen(w)
	for _, s := range a.seats {
		s.router.Source = source
		s.router = s.router.Start(now)
	}
}

// listen passes adverts on until the socket is closed.
func (a *Announcer) listen(w *wire) {
	buffer := make([]byte, 4096)
	for {
		h, err := w.receive(buffer)
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			time.Sleep(refreshEvery) // such as a link that is down
			continue
		}
		select {
		case a.adverts <- h:
		default: // full: the next advert comes soon
		}
	}
}

// closeWire stops all routers, and closes the socket. A gateway that can't hear others must hold no seat that others
// can take.
func (a *Announcer) closeWire() {
	if a.wire == nil {
		return
	}
	for _, s := range a.seats {
		a.stop(s)
	}
	_ = a.wire.close()
	a.wire = nil
}

// sourceAddress returns the address that adverts come from: the interface's IPv4 address, or else an IPv6 address. The
// IPv6 address is link-local for multicast, and not link-local for unicast.
func (a *Announcer) sourceAddress() (netip.Addr, error) {
	all, err := a.link.list()
	if err != nil {
		return netip.Addr{}, err
	}
	var six netip.Addr
	for _, assigned := range all {
		address := assigned.Address
		switch {
		case assigned.Interface != a.device.Index || assigned.Marked || a.put[address]:
		case address.Is4():
			return address, nil
		case !six.IsValid() && address.IsLinkLocalUnicast() != a.Unicast:
			six = address
		}
	}
	if !six.IsValid() {
		return six, fmt.Errorf("interface %s has no address that adverts could come from: give it one", a.Interface)
	}
	return six, nil
}

// sync puts the addresses of held seats on the interface, renews their lifetimes, and takes all others of ours off.
func (a *Announcer) sync() {
	if a.device == nil || !a.isSet || a.Mode == None {
		return
	}
	all, err := a.link.list()
	if err != nil {
		a.tell(NoAddress, err)
		return
	}
	held := a.held()
	var failed []error
	for _, assigned := range all {
		address := assigned.Address
		if assigned.Interface != a.device.Index || !assigned.Marked && !a.put[address] {
			continue
		}
		lasts, isHeld := held[address]
		if !isHeld {
			if err := a.link.drop(a.device.Index, address); err != nil {
				failed = append(failed, err)
				continue
			}
			delete(a.put, address)
		}
		if lasts == 0 && assigned.Permanent {
			delete(held, address) // nothing to renew
		}
	}
	for address, lasts := range held {
		if err := a.link.put(a.device.Index, address, lasts); err != nil {
			failed = append(failed, err)
			continue
		}
		a.put[address] = true
	}
	a.tell(NoAddress, errors.Join(failed...))
}

// held returns the addresses that must be on the interface, with their lifetimes; 0 is permanent.
func (a *Announcer) held() map[netip.Addr]time.Duration {
	held := map[netip.Addr]time.Duration{}
	for _, s := range a.seats {
		if !s.holds() {
			continue
		}
		for _, address := range s.Addresses {
			held[address] = lifetime
			if isLone(&s.Seat) {
				held[address] = 0
			}
		}
	}
	return held
}

// tell records a fault, and logs it if it is new. A nil error ends the fault.
func (a *Announcer) tell(reason string, err error) {
	if err == nil {
		delete(a.failing, reason)
		return
	}
	if text := err.Error(); a.failing[reason] != text {
		a.failing[reason] = text
		a.Log.Warnw("A fault of announcing", "reason", reason, "error", text)
	}
}
