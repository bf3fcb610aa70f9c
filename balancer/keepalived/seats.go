package keepalived

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"

	"nowake.ai/svc-lb-mux/balancer/announce"
	"nowake.ai/svc-lb-mux/balancer/claims"
	"nowake.ai/svc-lb-mux/balancer/lease"
	"nowake.ai/svc-lb-mux/balancer/want"
)

// The default paths, as Debian and Fedora have them.
const (
	DefaultConfig = "/etc/keepalived/svc-lb-mux.conf"
	DefaultPID    = "/run/keepalived.pid"
)

// Mode is this package's way to announce.
const Mode announce.Mode = "keepalived"

// Options configure Seats.
type Options struct {
	// Config is the file that keepalived.conf includes. PID is the file with keepalived's process ID.
	Config, PID string
	// Interface, Unicast, Group, Interval, Taken and Log are as in announce.Options.
	Interface string
	Unicast   bool
	Group     string
	Interval  time.Duration
	Taken     func(addresses []netip.Addr)
	Log       *zap.SugaredLogger
}

// The reasons of faults.
const (
	NotRunning   = "KeepalivedNotRunning"   // no process by the PID file
	NotFollowing = "KeepalivedNotFollowing" // the interface doesn't have what the file says
	NotWritten   = "KeepalivedNotWritten"   // the file can't be written
)

const (
	lookEvery = 250 * time.Millisecond
	// patience is how long keepalived may take to follow a change of the file.
	patience = 5 * time.Second
)

// Seats lets keepalived answer for seats. Its methods may be called from several goroutines.
type Seats struct {
	Options
	list    func() ([]announce.Assigned, error) // the machine's addresses
	changed chan struct{}
	taking  sync.WaitGroup // calls of Taken

	// setting is locked while Set runs: one Set at a time.
	setting sync.Mutex

	mu     sync.Mutex
	text   string // what the file must say; empty until the first Set
	seats  []want.Seat
	status announce.Status
	// isBehind is since when the interface differs from the file; zero if they agree.
	isBehind time.Time
	written  error // why the file can't be written, keepalived can't be told, or addresses can't be listed
	// again is true if keepalived was told while it was starting. It may have read the former file, and missed the signal.
	again bool
	// inFile are the intervals in the file since changedAt, and before are those before that.
	inFile, before lease.Adverts
	changedAt      time.Time
}

// New returns Seats that change nothing until the first Set.
func New(o Options) *Seats {
	o.Config, o.PID = cmp.Or(o.Config, DefaultConfig), cmp.Or(o.PID, DefaultPID)
	if o.Log == nil {
		o.Log = zap.NewNop().Sugar()
	}
	return &Seats{Options: o, list: announce.Addresses, changed: make(chan struct{}, 1)}
}

// Addresses returns all addresses of this machine. Those that our file gives to keepalived are marked.
func (k *Seats) Addresses() ([]announce.Assigned, error) {
	all, err := k.list()
	text, readErr := os.ReadFile(k.Config)
	if err != nil || readErr != nil {
		return all, err
	}
	ours := addressesIn(string(text))
	for i := range all {
		all[i].Marked = all[i].Marked || ours[all[i].Address]
	}
	return all, nil
}

// Set writes the file. It returns once the interface agrees with the file, or after some seconds. It fails if the
// machine's addresses can't be listed.
func (k *Seats) Set(ctx context.Context, seats []want.Seat) error {
	k.setting.Lock()
	defer k.setting.Unlock()
	before, err := k.Addresses()
	if err != nil {
		return err // the family of the adverts depends on the interface's addresses
	}
	k.mu.Lock()
	k.text, k.seats, k.isBehind = config(&k.Options, seats, k.isSix(before)), slices.Clone(seats), time.Now()
	k.noteIntervals()
	k.mu.Unlock()
	deadline := time.Now().Add(patience)
	for {
		if k.look(before) || time.Now().After(deadline) {
			return nil
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(lookEvery / 5):
		}
	}
}

// isSix is true if the interface has no IPv4 address of its own: adverts go over IPv6 then.
func (k *Seats) isSix(assigned []announce.Assigned) bool {
	index := announce.Index(k.Interface)
	return !slices.ContainsFunc(assigned, func(a announce.Assigned) bool {
		return a.Interface == index && a.Address.Is4() && !a.Marked
	})
}

// Status returns which seats keepalived holds.
func (k *Seats) Status() announce.Status {
	k.mu.Lock()
	defer k.mu.Unlock()
	return announce.Status{Holds: slices.Clone(k.status.Holds), Faults: slices.Clone(k.status.Faults),
		Adverts: k.status.Adverts}
}

// Changed is readable after the status changed.
func (k *Seats) Changed() <-chan struct{} { return k.changed }

// Run looks at the interface until the context ends. keepalived goes on.
func (k *Seats) Run(ctx context.Context) error {
	defer k.taking.Wait()
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			k.look(nil)
		}
	}
}

// look brings the file up to date, and returns true if the interface agrees with it. Our addresses in before that the
// file lacks must be off.
func (k *Seats) look(before []announce.Assigned) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.text == "" {
		return true
	}
	k.written = k.write()
	all, err := k.list()
	if err != nil {
		k.written = errors.Join(k.written, err)
	}
	has, index := map[netip.Addr]bool{}, announce.Index(k.Interface)
	for _, a := range all {
		has[a.Address] = has[a.Address] || a.Interface == index
	}
	holds, missing := k.compare(has)
	wanted := addressesIn(k.text)
	for _, a := range before {
		if a.Marked && !wanted[a.Address] && has[a.Address] {
			missing = append(missing, a.Address.String()+" is still there")
		}
	}
	if len(missing) == 0 {
		k.isBehind = time.Time{}
	} else if k.isBehind.IsZero() {
		k.isBehind = time.Now()
	}
	k.publish(holds, missing)
	return len(missing) == 0
}

// compare returns the seats that keepalived holds with all addresses, and how the interface differs from the file.
// keepalived must hold a seat without other gateways.
func (k *Seats) compare(has map[netip.Addr]bool) (holds []uint8, missing []string) {
	for i := range k.seats {
		s := &k.seats[i]
		isHeld := has[announce.SeatAddress(k.Group, s.RouterID, false)] ||
			has[announce.SeatAddress(k.Group, s.RouterID, true)]
		if !isHeld {
			if s.Others == 0 {
				missing = append(missing, fmt.Sprintf("the seat with router ID %d isn't taken", s.RouterID))
			}
			for _, address := range s.Addresses {
				if has[address] {
					missing = append(missing, address.String()+" is still there")
				}
			}
			continue
		}
		complete := true
		for _, address := range s.Addresses {
			if !has[address] {
				complete, missing = false, append(missing, address.String()+" isn't there")
			}
		}
		if complete {
			holds = append(holds, s.RouterID)
		}
	}
	slices.Sort(holds)
	return holds, missing
}

// publish makes the status known if it changed.
func (k *Seats) publish(holds []uint8, missing []string) {
	var faults []announce.Fault
	var absent *processError
	switch {
	case errors.As(k.written, &absent):
		faults = append(faults, announce.Fault{Reason: NotRunning, Message: absent.Error()})
	case k.written != nil:
		faults = append(faults, announce.Fault{Reason: NotWritten, Message: k.written.Error()})
	case len(missing) > 0 && time.Since(k.isBehind) > patience:
		faults = append(faults, announce.Fault{Reason: NotFollowing, Message: fmt.Sprintf("keepalived doesn't do what %s "+
			"says (%s): is the file included in keepalived.conf? Its log says more", k.Config,
			strings.Join(missing[:min(len(missing), 3)], ", "))})
	}
	now := announce.Status{Holds: holds, Faults: faults, Adverts: k.adverts()}
	if now.Equal(&k.status) {
		return
	}
	k.tell(holds, faults)
	k.status = now
	select {
	case k.changed <- struct{}{}:
	default:
	}
}

// noteIntervals notes what the file says about intervals, and since when.
func (k *Seats) noteIntervals() {
	next := lease.Adverts{Believes: claims.LongestInterval}
	for i := range k.seats {
		intervals := announce.Intervals(&k.seats[i], k.Interval)
		next.Sends, next.Believes = max(next.Sends, intervals.Interval), min(next.Believes, believes(intervals))
	}
	if k.inFile != next {
		k.before, k.inFile, k.changedAt = k.inFile, next, time.Now()
	}
}

// adverts returns keepalived's intervals; nil if they aren't known. Until keepalived had time to read a change, those
// of before may be in use, too.
func (k *Seats) adverts() *lease.Adverts {
	if k.written != nil || k.again {
		return nil
	}
	used := k.inFile
	if time.Since(k.changedAt) < patience {
		used.Sends = max(used.Sends, k.before.Sends)
		if k.before.Sends > 0 {
			used.Believes = min(used.Believes, k.before.Believes)
		}
	}
	return &used
}

// tell logs changes, and calls Taken.
func (k *Seats) tell(holds []uint8, faults []announce.Fault) {
	for _, fault := range faults {
		if !slices.Contains(k.status.Faults, fault) {
			k.Log.Warnw("A fault of keepalived", "reason", fault.Reason, "error", fault.Message)
		}
	}
	for i := range k.seats {
		s := &k.seats[i]
		switch was, is := slices.Contains(k.status.Holds, s.RouterID), slices.Contains(holds, s.RouterID); {
		case is && !was:
			k.Log.Infow("keepalived took a seat", "routerID", s.RouterID, "addresses", len(s.Addresses))
			if addresses := s.Addresses; k.Taken != nil {
				k.taking.Go(func() { k.Taken(addresses) })
			}
		case was && !is:
			k.Log.Infow("keepalived left a seat to another gateway", "routerID", s.RouterID)
		}
	}
}

// write replaces the file if it differs, and makes keepalived read it. It fails if keepalived doesn't run.
func (k *Seats) write() error {
	text, err := os.ReadFile(k.Config)
	isSame := err == nil && string(text) == k.text
	if !isSame {
		if err := replace(k.Config, k.text); err != nil {
			return fmt.Errorf("write the file for keepalived: %w", err)
		}
	}
	isYoung := isYoung(k.PID)
	if isSame && k.written == nil && (!k.again || isYoung) {
		_, err := process(k.PID)
		return err
	}
	k.again = isYoung
	return signal(k.PID) // also after a failure, or once keepalived has started
}
