package plan_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
	"nowake.ai/svc-lb-mux/validation"
)

var muxKey = types.NamespacedName{Namespace: "svc-mux", Name: "mux"}

func english(t testing.TB) validation.Language {
	t.Helper()
	language, err := validation.New(validation.DefaultPrefix, muxKey.Namespace)
	if err != nil {
		t.Fatal(err)
	}
	return language
}

// cluster is an API server with one mux, and the process that serves the mux.
type cluster struct {
	language validation.Language
	now      time.Time
	services map[types.NamespacedName]*corev1.Service
	version  int
	nodePort int32
	// published are channels that had an address before the first pass.
	published map[types.NamespacedName]bool

	// ledger is nil if there is none. A reader finds it in this condition, with why as the reason.
	ledger    *plan.Ledger
	condition plan.LedgerState
	why       string
	name      string // of the ledger's ConfigMap; empty for the name that the mux's owner wants
	// old is the ledger in the ConfigMap that the ledger moved from, until that ConfigMap is deleted.
	old     *plan.Ledger
	oldName string
	saved   *plan.Ledger

	unlabelled bool // another writer removed the labels of the ledger's ConfigMap

	// crashAfter is the number of writes after which the process crashes in its next pass; 0 if it doesn't.
	crashAfter int

	// The process remembers these.
	rebuildFrom time.Time
	unmet       bool
	lastGood    *plan.Ledger
	refused     map[types.NamespacedName]plan.PatchRefusal
	stuck       map[types.NamespacedName]bool
	contested   time.Time
	limited     map[string]time.Time
	blocked     *plan.Blocked
	frozen      string
	backends    map[types.NamespacedName]plan.Backing
	excess      map[types.NamespacedName]string // how a limit cuts a channel's endpoints
	refusedBy   map[types.NamespacedName]string // the API server's words about a channel's slices
	records     map[string]types.NamespacedName
	hidden      map[types.NamespacedName]bool // Services that the cache doesn't show

	// established are the claims that were in force after the last plan that was carried out: the promises are about
	// these. names has every name that a channel's port ever had, or could have, on the mux.
	established map[plan.Slot]plan.Claim
	names       map[string]types.NamespacedName
	live        map[types.NamespacedName]plan.Liveness
	answered    map[types.NamespacedName]plan.Liveness // the answers of live reads for the last plan
	unreadable  bool                                   // live reads fail
	unread      bool                                   // a process has just started, and hasn't read the Gateways yet
}

func newCluster(t testing.TB) *cluster {
	t.Helper()
	return &cluster{
		language:  english(t),
		now:       time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
		services:  map[types.NamespacedName]*corev1.Service{},
		nodePort:  30000,
		published: map[types.NamespacedName]bool{},
		refused:   map[types.NamespacedName]plan.PatchRefusal{},
		limited:   map[string]time.Time{},
		stuck:     map[types.NamespacedName]bool{},
		backends:  map[types.NamespacedName]plan.Backing{},
		refusedBy: map[types.NamespacedName]string{}, excess: map[types.NamespacedName]string{},
		records: map[string]types.NamespacedName{},
		hidden:  map[types.NamespacedName]bool{},

		established: map[plan.Slot]plan.Claim{},
		names:       map[string]types.NamespacedName{},
		live:        map[types.NamespacedName]plan.Liveness{},
		answered:    map[types.NamespacedName]plan.Liveness{},
	}
}

// put stores a Service as the API server would.
func (c *cluster) put(svc *corev1.Service) {
	key := types.NamespacedName{Namespace: svc.Namespace, Name: svc.Name}
	c.version++
	svc.ResourceVersion = strconv.Itoa(c.version)
	if svc.UID == "" {
		svc.UID = types.UID(fmt.Sprintf("uid-%s-%d", svc.Name, c.version))
	}
	if svc.CreationTimestamp.IsZero() {
		svc.CreationTimestamp = metav1.NewTime(c.now.Add(time.Duration(c.version)*time.Second - 24*time.Hour))
	}
	for i := range svc.Spec.Ports {
		port := &svc.Spec.Ports[i]
		if port.Protocol == "" {
			port.Protocol = corev1.ProtocolTCP
		}
		if port.NodePort == 0 && key == muxKey {
			c.nodePort++
			port.NodePort = c.nodePort
		}
	}
	for _, port := range svc.Spec.Ports {
		if key != muxKey { // a port with this name on the mux is the channel's
			c.names[plan.DerivedName(plan.PortID{Channel: key, Name: port.Name, Protocol: port.Protocol})] = key
		}
	}
	if svc.DeletionTimestamp != nil && len(svc.Finalizers) == 0 {
		delete(c.services, key)
		return
	}
	c.services[key] = svc
}

func (c *cluster) mux() *corev1.Service { return c.services[muxKey] }

// isMux is true if the process takes the mux's Service for a mux.
func (c *cluster) isMux() bool {
	svc := c.mux()
	return svc != nil && c.language.Classify(svc).Mux() && svc.Spec.Type == corev1.ServiceTypeLoadBalancer
}

// namesMux is true if the Service is a channel of the mux.
func (c *cluster) namesMux(svc *corev1.Service) bool {
	if !c.language.Classify(svc).Channel() {
		return false
	}
	of, ok := c.language.ParseClass(*svc.Spec.LoadBalancerClass)
	return ok && of == muxKey
}

func (c *cluster) channels() []types.NamespacedName {
	var keys []types.NamespacedName
	for key, svc := range c.services {
		if c.namesMux(svc) {
			keys = append(keys, key)
		}
	}
	slices.SortFunc(keys, plan.CompareKeys)
	return keys
}

// world returns the World that the process sees. It shares nothing with the cluster.
func (c *cluster) world() plan.World {
	w := plan.World{
		Now: c.now, Keys: c.language.Keys(), Key: muxKey,
		Live: map[types.NamespacedName]plan.Liveness{}, Confirmed: map[types.NamespacedName]bool{},
		Records:     maps.Clone(c.records),
		RebuildFrom: c.rebuildFrom, Unmet: c.unmet, ListenersUnknown: c.unread,
	}
	if c.isMux() {
		svc := c.mux().DeepCopy()
		w.Mux = plan.ReadMux(c.language, svc, plan.DeclaresPlaceholder(svc))
	}
	for _, key := range c.channels() {
		if c.hidden[key] {
			continue
		}
		if isListener(key) && (c.unread || w.Mux == nil) {
			continue // as the mux line does
		}
		channel := c.read(c.services[key].DeepCopy())
		channel.Backends, channel.RefusedSlices, channel.Excess = c.backends[key], c.refusedBy[key], c.excess[key]
		w.Channels = append(w.Channels, channel)
	}
	w.Ledger = c.reading(w.Mux)
	return w
}

// memory returns the Memory of the process. It shares nothing with the cluster.
func (c *cluster) memory() plan.Memory {
	m := plan.Memory{
		Refused: maps.Clone(c.refused), Stuck: maps.Clone(c.stuck), ContestedUntil: c.contested,
		Blocked: c.blocked, Frozen: c.frozen, LimitedUntil: maps.Clone(c.limited),
	}
	if c.lastGood != nil {
		last := c.lastGood.Clone()
		m.LastGood = &last
	}
	return m
}

func (c *cluster) reading(mux *plan.ObservedMux) plan.Reading {
	if mux == nil {
		return plan.Reading{}
	}
	if c.old != nil && mux.Ledger == c.oldName && mux.LedgerInForce == c.oldName { // the mux's owner changed the name back
		c.ledger, c.name, c.old, c.condition, c.why = c.old, c.oldName, nil, plan.Good, ""
	}
	read := plan.Reading{Condition: c.condition, Name: mux.Ledger, Why: c.why}
	elsewhere := c.ledger != nil && c.name != "" && c.name != mux.Ledger
	switch {
	case elsewhere && mux.LedgerInForce == c.name:
		read.Name, read.Moved = c.name, true
	case elsewhere: // nothing names that ConfigMap
		c.ledger, c.condition, c.why = nil, plan.Good, ""
		read.Condition, read.Why = plan.Good, ""
	case c.old == nil && c.condition == plan.Good && mux.LedgerInForce != "" && mux.LedgerInForce != mux.Ledger:
		read.Condition, read.Gone = plan.Edited, mux.LedgerInForce // as record.Ask.doubt does
	}
	switch {
	case c.ledger == nil && c.condition <= plan.Edited:
		read.Condition = plan.Missing
	case c.condition <= plan.Edited:
		read.Ledger, read.Unlabelled = c.ledger.Clone(), c.unlabelled
	}
	return read
}

// decide plans, and confirms by live reads what the plan asks for, as the process does. It returns the names that the
// plans asked for.
func (c *cluster) decide() (asked []types.NamespacedName, final *plan.Plan) {
	w := c.world()
	clear(c.answered)
	for range 10 {
		p := plan.Mux(w, c.memory())
		if len(p.Confirm) == 0 {
			return asked, p
		}
		cached := func(key types.NamespacedName) bool {
			isUnread := c.unread && isListener(key)
			return c.services[key] != nil && !c.hidden[key] && !isUnread
		}
		if c.unreadable && slices.ContainsFunc(p.Confirm, cached) {
			return nil, nil // the process tries again later
		}
		asked = append(asked, p.Confirm...)
		c.confirm(&w, p.Confirm)
	}
	panic("a plan never stops asking")
}

// confirm puts the answers of live reads into a world.
func (c *cluster) confirm(w *plan.World, keys []types.NamespacedName) {
	for _, key := range keys {
		w.Confirmed[key] = true
		if key == muxKey {
			c.unmet = false
			continue
		}
		w.Channels = slices.DeleteFunc(w.Channels, func(channel plan.ObservedChannel) bool { return channel.Key == key })
		w.Live[key] = plan.Gone
		svc := c.services[key]
		said, known := c.live[key]
		switch {
		case c.unreadable || c.unread && isListener(key):
			w.Live[key] = plan.Present
		case known:
			w.Live[key] = said
		case svc != nil && c.namesMux(svc) && c.hidden[key]:
			w.Live[key] = plan.Present
		case svc != nil && c.namesMux(svc):
			channel := c.read(svc.DeepCopy())
			channel.Backends, channel.RefusedSlices, channel.Excess = c.backends[key], c.refusedBy[key], c.excess[key]
			w.Channels = append(w.Channels, channel)
		}
		c.answered[key] = w.Live[key]
	}
}

// step is one write of a plan.
type step struct {
	what string
	do   func() error
	// At most one of these is set; none if the step deletes the former ledger.
	ledger  *plan.LedgerWrite
	publish *plan.MuxPatch
	channel *plan.ChannelPatch
}

// steps returns the writes of a plan in their order, each as the API server would take it.
func (c *cluster) steps(p *plan.Plan) []step {
	var steps []step
	ledger := func(what string, l *plan.LedgerWrite) {
		if l != nil {
			steps = append(steps, step{what: what, ledger: l, do: func() error { return c.writeLedger(l) }})
		}
	}
	channels := func(what string, patches []plan.ChannelPatch) {
		for i := range patches {
			patch := &patches[i]
			steps = append(steps, step{
				what: what + " " + patch.Channel.String(), channel: patch, do: func() error { return c.patchChannel(patch) },
			})
		}
	}
	ledger("reserve", p.Reserve)
	channels("hide", p.Hide)
	for i := range steps {
		if s := &steps[i]; s.channel != nil && c.stuck[s.channel.Channel] {
			s.do = func() error { return nil } // the channel's status can't be written
		}
	}
	if p.Publish != nil {
		steps = append(steps, step{what: "publish", publish: p.Publish, do: func() error { return c.patchMux(p.Publish) }})
		if name := c.mux().Annotations[c.language.Keys().Ledger]; name != "" &&
			p.Publish.Annotations[c.language.Keys().Ledger] != name {
			steps = append(steps, step{what: "delete the old ledger", do: c.dropOld})
		}
	}
	ledger("settle", p.Settle)
	channels("show", p.Show)
	return steps
}

// apply carries a plan out. A watch checks each write.
func (c *cluster) apply(p *plan.Plan) error { return c.applySome(p, c.watched(), len(c.steps(p))) }

// applySome carries out the first n steps of a plan. If the plan has more, the process crashes after them.
func (c *cluster) applySome(p *plan.Plan, w *watch, n int) error {
	steps := c.steps(p)
	for _, s := range steps[:min(n, len(steps))] {
		before := w.before(c)
		if err := s.do(); err != nil {
			return fmt.Errorf("%s: %w", s.what, err)
		}
		if err := w.after(c, p, &s, before); err != nil {
			return fmt.Errorf("%s: %w", s.what, err)
		}
	}
	if n < len(steps) {
		c.lastGood, c.frozen = nil, ""
		c.forgetListeners()
		return nil
	}
	c.remember(p)
	c.establish()
	return nil
}

// remember keeps what the process keeps of a pass that went through.
func (c *cluster) remember(p *plan.Plan) {
	c.frozen = ""
	if p.Freeze != nil && p.Freeze.Reason != plan.Contested {
		c.frozen = p.Freeze.Message
	}
	for _, claim := range p.InForce { // the process writes its slices
		if c.backends[claim.Owner.Channel] == plan.Backed {
			c.records[claim.MuxName] = claim.Owner.Channel
		}
	}
	if c.ledger != nil && (p.Freeze == nil || c.inForce()) {
		last := c.ledger.Clone()
		c.lastGood = &last
	}
}

// inForce is true for a ledger that counts for its mux.
func (c *cluster) inForce() bool {
	if c.condition != plan.Good || c.ledger.Generation == 0 || c.mux() == nil {
		return false
	}
	stamp, _ := validation.ParseGeneration(c.mux().Annotations[c.language.Keys().Generation])
	return c.ledger.Generation >= stamp
}

// dropOld deletes the ConfigMap that the ledger moved from, once the mux doesn't name it any more.
func (c *cluster) dropOld() error {
	if c.mux().Annotations[c.language.Keys().Ledger] != c.oldName {
		c.old = nil
	}
	return nil
}

func (c *cluster) writeLedger(l *plan.LedgerWrite) error {
	if err := contradiction(&l.Ledger); err != nil {
		return err
	}
	wanted := plan.ReadMux(c.language, c.mux(), false).Ledger
	if c.ledger != nil && c.name != "" && c.name != wanted {
		c.old, c.oldName = c.ledger, c.name
	} else if wanted == c.oldName {
		c.old = nil // this write replaces it
	}
	ledger := l.Ledger.Clone()
	c.ledger, c.condition, c.why, c.name = &ledger, plan.Good, "", wanted
	c.unlabelled = false
	return nil
}

// contradiction returns the first contradiction in a ledger.
func contradiction(l *plan.Ledger) error {
	slots, owners, names := map[plan.Slot]bool{}, map[plan.PortID]bool{}, map[string]bool{}
	for i := range l.Claims {
		claim := &l.Claims[i]
		for _, slot := range numbersOf(claim) {
			if slots[slot] {
				return fmt.Errorf("the ledger has %s twice", slot)
			}
			slots[slot] = true
		}
		if claim.MuxName == "" {
			return fmt.Errorf("the claim of %s has no name", claim.Slot())
		}
		if claim.State != plan.Held {
			continue
		}
		if owners[claim.Owner] || names[claim.MuxName] {
			return fmt.Errorf("the ledger has owner %v or name %s twice", claim.Owner, claim.MuxName)
		}
		owners[claim.Owner], names[claim.MuxName] = true, true
	}
	return nil
}

func (c *cluster) patchMux(p *plan.MuxPatch) error {
	svc := c.mux().DeepCopy()
	if svc.ResourceVersion != p.ResourceVersion {
		return fmt.Errorf("the mux is at version %s, not %s", svc.ResourceVersion, p.ResourceVersion)
	}
	if p.Ports != nil {
		if err := acceptable(p.Ports); err != nil {
			return err
		}
		svc.Spec.Ports = nil
		for i := range p.Ports {
			svc.Spec.Ports = append(svc.Spec.Ports, *p.Ports[i].DeepCopy())
		}
	}
	if svc.Annotations == nil {
		svc.Annotations = map[string]string{}
	}
	for key, value := range p.Annotations {
		svc.Annotations[key] = value
		if value == "" {
			delete(svc.Annotations, key)
		}
	}
	svc.Finalizers = slices.DeleteFunc(svc.Finalizers, func(f string) bool { return f == p.DropFinalizer })
	c.put(svc)
	return nil
}

// acceptable returns the API server's error about a list of ports.
func acceptable(ports []corev1.ServicePort) error {
	if len(ports) == 0 {
		return fmt.Errorf("a Service needs a port")
	}
	seen := map[string]bool{}
	for i := range ports {
		port := &ports[i]
		node := fmt.Sprintf("node port %d/%s", port.NodePort, port.Protocol)
		for _, what := range [...]string{"name " + port.Name, fmt.Sprintf("port %d/%s", port.Port, port.Protocol), node} {
			if seen[what] && (what != node || port.NodePort != 0) {
				return fmt.Errorf("%s is there twice", what)
			}
			seen[what] = true
		}
	}
	return nil
}

func (c *cluster) patchChannel(p *plan.ChannelPatch) error {
	svc := c.services[p.Channel]
	if svc == nil {
		return nil // the Service was deleted meanwhile
	}
	svc = svc.DeepCopy()
	if p.SetAddress {
		svc.Status.LoadBalancer.Ingress = slices.Clone(p.Address)
	}
	for _, condition := range p.Conditions {
		svc.Status.Conditions = slices.DeleteFunc(svc.Status.Conditions, func(c metav1.Condition) bool {
			return c.Type == condition.Type
		})
		svc.Status.Conditions = append(svc.Status.Conditions, condition)
	}
	for _, kind := range p.Drop {
		svc.Status.Conditions = slices.DeleteFunc(svc.Status.Conditions, func(c metav1.Condition) bool {
			return c.Type == kind
		})
	}
	if svc.Annotations == nil {
		svc.Annotations = map[string]string{}
	}
	if p.SetNote {
		svc.Annotations[c.language.Keys().Ports] = p.PortsNote
		if p.PortsNote == "" {
			delete(svc.Annotations, c.language.Keys().Ports)
		}
	}
	for _, key := range p.Leftovers.Annotations {
		delete(svc.Annotations, key)
	}
	svc.Finalizers = slices.DeleteFunc(svc.Finalizers, func(f string) bool { return f == p.Leftovers.Finalizer })
	c.put(svc)
	return nil
}

// settle runs passes until there is nothing to do, as the process would: the event of each write causes another pass.
// It hands each pass to see.
func (c *cluster) settle(see func(asked []types.NamespacedName, p *plan.Plan)) error {
	for range 12 {
		if err := c.checkPure(); err != nil {
			return err
		}
		asked, p := c.decide()
		see(asked, p)
		if n := c.crashAfter; n > 0 {
			c.crashAfter = 0
			if err := c.applySome(p, c.watched(), n); err != nil {
				return err
			}
			continue
		}
		if err := c.apply(p); err != nil {
			return err
		}
		if !p.Again.IsZero() && !p.Again.After(c.now) {
			continue
		}
		switch {
		case p.Empty() && !c.contested.IsZero():
			return nil // the mux isn't corrected yet
		case p.Empty():
			return c.atRest(p)
		case c.onlyStuck(p):
			return nil
		}
	}
	return fmt.Errorf("it doesn't come to rest")
}

// onlyStuck is true if a plan has no writes but to take off addresses that can't be taken off.
func (c *cluster) onlyStuck(p *plan.Plan) bool {
	for i := range p.Hide {
		if !c.stuck[p.Hide[i].Channel] {
			return false
		}
	}
	return p.Reserve == nil && p.Publish == nil && p.Settle == nil && len(p.Show) == 0
}

// merge changes an object as a JSON merge patch would.
func merge[T any](t testing.TB, object *T, patch map[string]any) *T {
	t.Helper()
	text, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	var is map[string]any
	if err := json.Unmarshal(text, &is); err != nil {
		t.Fatal(err)
	}
	text, err = json.Marshal(mergeValues(is, patch))
	if err != nil {
		t.Fatal(err)
	}
	var merged T
	if err := json.Unmarshal(text, &merged); err != nil {
		t.Fatal(err)
	}
	return &merged
}

func mergeValues(is, patch map[string]any) map[string]any {
	if is == nil {
		is = map[string]any{}
	}
	for key, value := range patch {
		inner, isMap := value.(map[string]any)
		switch {
		case value == nil:
			delete(is, key)
		case isMap:
			old, _ := is[key].(map[string]any)
			is[key] = mergeValues(old, inner)
		default:
			is[key] = value
		}
	}
	return is
}
