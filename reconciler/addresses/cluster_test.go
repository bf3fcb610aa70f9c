package addresses_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"nowake.ai/svc-lb-mux/balancer/claims"
	"nowake.ai/svc-lb-mux/balancer/lease"
	"nowake.ai/svc-lb-mux/reconciler/addresses"
	"nowake.ai/svc-lb-mux/reconciler/addresses/decide"
	"nowake.ai/svc-lb-mux/validation"
)

// server is an API server in memory, with the gateways' agents. It checks the promises after every write.
type server struct {
	now      time.Time
	version  int
	services map[types.NamespacedName]*corev1.Service
	maps     map[string]*corev1.ConfigMap
	leases   map[string]*coordinationv1.Lease
	agents   map[string]*agent
	language validation.Language

	// probes makes agents probe backends. All backends answer.
	probes bool
	// zones puts gateways into zones, by their names.
	zones bool
	// emptyLists makes lists of Services empty, as a proxy with a fault may.
	emptyLists bool
	writes     int
	events     []string
	// restored is true from a restored copy of the claims until the next undisturbed pass.
	restored bool
	// deleted are all Services that were deleted.
	deleted []*corev1.Service
	// settled is the address that each mux showed first since its owner asked for one.
	settled map[types.NamespacedName]netip.Addr
	broken  []string // promises that were broken
}

func newServer(language validation.Language) *server {
	return &server{
		now: time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC), services: map[types.NamespacedName]*corev1.Service{},
		maps:   map[string]*corev1.ConfigMap{},
		leases: map[string]*coordinationv1.Lease{}, agents: map[string]*agent{}, language: language,
		settled: map[types.NamespacedName]netip.Addr{},
	}
}

func (s *server) next() string {
	s.version++
	return strconv.Itoa(s.version)
}

func (s *server) breaks(format string, args ...any) {
	s.broken = append(s.broken, fmt.Sprintf(format, args...))
}

// claims returns the decoded claims of a pool; nil if there are none.
func (s *server) claims(pool string) *claims.Claims {
	cm := s.maps[claims.Name(pool)]
	if cm == nil {
		return nil
	}
	c, err := claims.Decode(cm, pool)
	if err != nil {
		return nil
	}
	return &c
}

// createMux adds a mux, or changes the address that a mux asks for.
func (s *server) createMux(name, pool, wanted string) {
	key := types.NamespacedName{Namespace: "edge", Name: name}
	class := s.language.FormatGatewayClass(pool)
	svc := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "edge", Name: name, UID: types.UID(fmt.Sprint(name, "-", s.version)),
			CreationTimestamp: metav1.NewTime(s.now),
			Annotations:       map[string]string{s.language.Keys().Multiplexer: "true"}},
		Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer, LoadBalancerClass: &class,
			IPFamilies: []corev1.IPFamily{corev1.IPv4Protocol},
			Ports:      []corev1.ServicePort{{Name: "http", Port: 80, Protocol: corev1.ProtocolTCP}}},
	}
	if before := s.services[key]; before != nil && *before.Spec.LoadBalancerClass == class {
		svc = before.DeepCopy()
	}
	if keysAddress := s.language.Keys().Address; svc.Annotations[keysAddress] != wanted {
		delete(svc.Annotations, keysAddress)
		delete(s.settled, key)
		if wanted != "" {
			svc.Annotations[keysAddress] = wanted
		}
	}
	if before := s.services[key]; before != nil && before.UID != svc.UID {
		delete(s.settled, key) // the mux moved to another pool
	}
	svc.ResourceVersion = s.next()
	s.services[key] = svc
}

func (s *server) deleteMux(name string) {
	key := types.NamespacedName{Namespace: "edge", Name: name}
	if svc := s.services[key]; svc != nil {
		s.deleted = append(s.deleted, svc)
		delete(s.services, key)
	}
	if s.claims("p") == nil {
		delete(s.settled, key)
	}
}

// forgetHidden forgets the settled addresses of muxes that show none: once the claims are lost, nothing tells of these
// addresses.
func (s *server) forgetHidden() {
	maps.DeleteFunc(s.settled, func(key types.NamespacedName, _ netip.Addr) bool {
		return s.services[key] == nil || len(claims.Shown(s.services[key])) == 0
	})
}

// start registers a gateway.
func (s *server) start(name string) {
	a := s.agents[name]
	if a == nil {
		a = newAgent(name)
		s.agents[name] = a
	}
	a.alive = true
	s.program(name)
	s.report(name)
}

// report renews a gateway's Lease.
func (s *server) report(name string) {
	a := s.agents[name]
	if a == nil || !a.alive {
		return
	}
	g := lease.Gateway{Name: name, Pool: "p", Holder: name, RenewedAt: s.now, Duration: 40 * time.Second,
		Facts: &lease.Facts{Capacity: 1, Addresses: []netip.Addr{a.own()}}, Report: &lease.Report{Holds: a.holds()}}
	if s.zones {
		g.Facts.Zone = string(rune('a' + name[len(name)-1]%2))
	}
	if s.probes {
		g.Report.Probes = &lease.Probes{Settled: true}
	}
	byMux := map[types.UID][]netip.Addr{}
	for address, uid := range a.table {
		byMux[uid] = append(byMux[uid], address)
	}
	for uid, addresses := range byMux {
		g.Report.Muxes = append(g.Report.Muxes, lease.Mux{UID: uid, Programmed: addresses})
	}
	var l coordinationv1.Lease
	if err := g.Write(&l, s.language.Keys()); err != nil {
		s.breaks("a Lease can't be written: %v", err)
	}
	l.Namespace, l.ResourceVersion = "lb", s.next()
	s.leases[l.Name] = &l
}

// check looks for promises that the present state of the cluster breaks.
func (s *server) check(what string) {
	shownBy := map[netip.Addr]types.NamespacedName{}
	claimed := map[netip.Addr]string{}
	for _, pool := range []string{"p", "q"} {
		c := s.claims(pool)
		if c == nil {
			continue
		}
		for i := range c.Muxes {
			for _, a := range c.Muxes[i].Addresses {
				if other, twice := claimed[a]; twice {
					s.breaks("%s: address %s is claimed by %s and by %s", what, a, other, c.Muxes[i].Key)
				}
				claimed[a] = c.Muxes[i].Key.String()
			}
		}
	}
	for key, svc := range s.services {
		pool, _ := s.language.GatewayPool(*svc.Spec.LoadBalancerClass)
		c := s.claims(pool)
		for _, a := range claims.Shown(svc) {
			if other, twice := shownBy[a]; twice {
				s.breaks("%s: address %s is shown by %s and by %s", what, a, other, key)
			}
			shownBy[a] = key
			if c == nil || s.restored {
				continue
			}
			if m, found := c.Find(key); !found || !m.IsHeld() || !slices.Contains(m.Addresses, a) {
				s.breaks("%s: mux %s shows %s, which isn't claimed for it: %+v", what, key, a, m)
			}
		}
	}
}

// view is what one controller sees of the server: its cache may be behind, and it may be killed.
type view struct {
	*server
	cachedServices []*corev1.Service
	cachedLeases   []*coordinationv1.Lease
	// heard is how many deletions the watch told.
	heard int
	// left is how many writes the controller still makes before it is killed.
	left int
	// before is called before each write.
	before func()
}

var errKilled = errors.New("killed")

func (s *server) view() *view {
	v := &view{server: s, left: 1 << 30, before: func() {}, heard: len(s.deleted)}
	v.sync(func(client.Object) {})
	return v
}

// sync makes the cache as the server is, and tells of deletions.
func (v *view) sync(deleted func(client.Object)) {
	v.cachedServices, v.cachedLeases = v.server.listServices(), v.server.listLeases()
	for ; v.heard < len(v.server.deleted); v.heard++ {
		deleted(v.server.deleted[v.heard])
	}
}

func (s *server) listServices() []*corev1.Service {
	if s.emptyLists {
		return nil
	}
	keys := slices.SortedFunc(maps.Keys(s.services), func(a, b types.NamespacedName) int {
		return strings.Compare(a.String(), b.String())
	})
	var list []*corev1.Service
	for _, key := range keys {
		list = append(list, s.services[key].DeepCopy())
	}
	return list
}

func (s *server) listLeases() []*coordinationv1.Lease {
	var list []*coordinationv1.Lease
	for _, name := range slices.Sorted(maps.Keys(s.leases)) {
		list = append(list, s.leases[name].DeepCopy())
	}
	return list
}

func (v *view) isDead() bool { return v.left < 0 }

func (v *view) Claims(context.Context, []string) ([]corev1.ConfigMap, error) {
	if v.isDead() {
		return nil, errKilled
	}
	var list []corev1.ConfigMap
	for _, name := range slices.Sorted(maps.Keys(v.server.maps)) {
		list = append(list, *v.server.maps[name].DeepCopy())
	}
	return list, nil
}

func (v *view) Services(_ context.Context, live bool) ([]*corev1.Service, error) {
	switch {
	case v.isDead():
		return nil, errKilled
	case live:
		return v.listServices(), nil
	}
	return v.cachedServices, nil
}

func (v *view) Leases(_ context.Context, live bool) ([]*coordinationv1.Lease, error) {
	switch {
	case v.isDead():
		return nil, errKilled
	case live:
		return v.listLeases(), nil
	}
	return v.cachedLeases, nil
}

// mayWrite counts a write. It is false once the controller is killed.
func (v *view) mayWrite() bool {
	if v.left > 0 {
		v.before()
	}
	v.left--
	return v.left >= 0
}

func (v *view) WriteClaims(_ context.Context, cm *corev1.ConfigMap) error {
	if !v.mayWrite() {
		return errKilled
	}
	resource := schema.GroupResource{Resource: "configmaps"}
	before := v.server.maps[cm.Name]
	switch {
	case before != nil && cm.ResourceVersion == "":
		return apierrors.NewAlreadyExists(resource, cm.Name)
	case before == nil && cm.ResourceVersion != "":
		return apierrors.NewNotFound(resource, cm.Name)
	case before != nil && before.ResourceVersion != cm.ResourceVersion:
		return apierrors.NewConflict(resource, cm.Name, errors.New("changed"))
	}
	written := cm.DeepCopy()
	written.ResourceVersion = v.next()
	v.server.maps[cm.Name] = written
	v.writes++
	v.checkLost(before, written)
	v.check("claims written")
	return nil
}

// checkLost checks that claims lose only addresses that no status shows.
func (v *view) checkLost(before, after *corev1.ConfigMap) {
	if before == nil {
		return
	}
	pool := strings.TrimPrefix(before.Name, claims.NamePrefix)
	was, errWas := claims.Decode(before, pool)
	is, errIs := claims.Decode(after, pool)
	if errWas != nil || errIs != nil {
		v.breaks("claims can't be read: %v, %v", errWas, errIs)
		return
	}
	for i := range was.Muxes {
		m := &was.Muxes[i]
		now, found := is.Find(m.Key)
		svc := v.services[m.Key]
		if !found && svc == nil {
			delete(v.settled, m.Key) // the mux was gone for long enough
		}
		for _, a := range m.Addresses {
			isLost := !found || !slices.Contains(now.Addresses, a) || m.IsHeld() && !now.IsHeld()
			if isLost && svc != nil && slices.Contains(claims.Shown(svc), a) {
				v.breaks("the claims lose %s of mux %s, which shows it", a, m.Key)
			}
		}
	}
}

func (v *view) WriteStatus(_ context.Context, change addresses.Change) error {
	if !v.mayWrite() {
		return errKilled
	}
	key := types.NamespacedName{Namespace: change.Service.Namespace, Name: change.Service.Name}
	resource := schema.GroupResource{Resource: "services"}
	before := v.services[key]
	switch {
	case before == nil:
		return apierrors.NewNotFound(resource, key.Name)
	case before.ResourceVersion != change.Service.ResourceVersion || before.UID != change.Service.UID:
		return apierrors.NewConflict(resource, key.Name, errors.New("changed"))
	}
	svc := before.DeepCopy()
	svc.ResourceVersion = v.next()
	if change.SetsAddresses {
		svc.Status.LoadBalancer.Ingress = nil
		mode := corev1.LoadBalancerIPModeProxy
		for _, a := range change.Addresses {
			svc.Status.LoadBalancer.Ingress = append(svc.Status.LoadBalancer.Ingress,
				corev1.LoadBalancerIngress{IP: a.String(), IPMode: &mode})
		}
	}
	for _, c := range change.Conditions {
		svc.Status.Conditions = slices.DeleteFunc(svc.Status.Conditions, func(b metav1.Condition) bool {
			return b.Type == c.Type
		})
		svc.Status.Conditions = append(svc.Status.Conditions, c)
	}
	svc.Status.Conditions = slices.DeleteFunc(svc.Status.Conditions, func(b metav1.Condition) bool {
		return slices.Contains(change.Removed, b.Type)
	})
	delete(svc.Annotations, v.language.Keys().CarriedBy)
	if change.CarriedBy != "" {
		svc.Annotations[v.language.Keys().CarriedBy] = change.CarriedBy
	}
	v.services[key] = svc
	v.writes++
	for _, a := range claims.Shown(svc) {
		if !slices.Contains(claims.Shown(before), a) {
			v.checkShown(key, svc.UID, a)
		}
	}
	for _, a := range claims.Shown(before) {
		if !slices.Contains(claims.Shown(svc), a) {
			v.checkHidden(svc, a)
		}
	}
	v.check("status written")
	return nil
}

// checkShown checks an address that a status shows from now on.
func (v *view) checkShown(key types.NamespacedName, uid types.UID, a netip.Addr) {
	// An agent that read a restored copy may have closed an address that its Lease in the cache still reports.
	answers := v.restored
	for _, agent := range v.agents {
		answers = answers || agent.table[a] == uid
	}
	if !answers {
		v.breaks("mux %s shows %s, which no gateway answers for", key, a)
	}
	if before, known := v.settled[key]; known && before != a {
		v.breaks("mux %s shows %s instead of %s, although nobody asked for it", key, a, before)
	}
	if wish := v.services[key].Annotations[v.language.Keys().Address]; wish == "" || wish == a.String() {
		v.settled[key] = a // otherwise the controller doesn't know the wish yet
	}
}

// checkHidden checks an address that a status doesn't show any more: its owner must have asked for another one.
func (v *view) checkHidden(svc *corev1.Service, a netip.Addr) {
	key := client.ObjectKeyFromObject(svc)
	pool, _ := v.language.GatewayPool(*svc.Spec.LoadBalancerClass)
	c := v.server.claims(pool)
	if c == nil || v.restored {
		return
	}
	claim, _ := c.Find(key)
	if wanted := svc.Annotations[v.language.Keys().Address]; claim.IsHeld() && slices.Contains(claim.Addresses, a) &&
		(wanted == "" || wanted == a.String()) {
		v.breaks("mux %s doesn't show %s any more, although nobody asked for that", key, a)
	}
}

func (v *view) Tell(svc *corev1.Service, event decide.Event) {
	v.events = append(v.events, fmt.Sprintf("%s %s", svc.Name, event.Reason))
}

func (v *view) Warn(pool string, alarm decide.Alarm) {
	v.events = append(v.events, fmt.Sprintf("pool %s %s %s", pool, alarm.Gateway, alarm.Reason))
}
