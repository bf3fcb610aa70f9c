package plan_test

import (
	"bytes"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"nowake.ai/svc-lb-mux/internal/testkit/golden"
	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
	"nowake.ai/svc-lb-mux/validation"
)

// A world is a file of several YAML documents. It begins with a comment that says what the world shows. Objects follow.
// A document of kind Then begins the next stage: its objects come once all passes before it have ended. The world's
// text has every pass.
//
// A Service is merged into the one of its name. By default it is a LoadBalancer, and a channel of the mux unless it is
// the mux itself. A Listener of a Gateway is replaced. The kinds Ledger and World set everything else.
type story struct {
	stages []stageOf
}

type stageOf struct {
	title string
	docs  []map[string]any
}

// ledgerDoc is a document of kind Ledger. A claim is a text such as "20000/TCP app/web http:80 auto". The name of its
// port on the mux, "releasing", or "until 10m" may follow.
type ledgerDoc struct {
	Kind       string            `json:"kind"`
	Generation int64             `json:"generation"`
	Claims     []string          `json:"claims"`
	Hostnames  map[string]string `json:"hostnames"`
	Name       string            `json:"name"`
	// Found is the condition in which the ledger is read: good, edited, unreadable, foreign, newer, or lost for a missing
	// one.
	Found string `json:"found"`
	Why   string `json:"why"`
	// Do is an action on the present ledger: save, restore, edit, empty, unlabel, or lose.
	Do string `json:"do"`
	// Remembered is true if the process that led before still leads when the ledger is lost or emptied. Otherwise a
	// process leads that never read it.
	Remembered bool `json:"remembered"`
}

// worldDoc is a document of kind World.
type worldDoc struct {
	Kind    string            `json:"kind"`
	Later   string            `json:"later"`   // how much time passes
	Delete  []string          `json:"delete"`  // Services
	Hidden  []string          `json:"hidden"`  // Services that the cache doesn't show
	Live    map[string]string `json:"live"`    // answers of live reads: gone, or present if the read fails
	Refused map[string]string `json:"refused"` // channels whose ports the API server didn't take
	// Withheld are refused channels that lost ports, and whose ports the API server refuses to put back.
	Withheld []string `json:"withheld"`
	// Unpublished are the refused numbers by channel, such as 81/TCP.
	Unpublished map[string][]string `json:"unpublished"`
	Stuck       []string            `json:"stuck"` // channels whose address couldn't be taken off
	// Contested is how long the mux isn't corrected, because another writer keeps changing it.
	Contested string `json:"contested"`
	// Limited is how long namespaces may not change ports.
	Limited  map[string]string `json:"limited"`
	Backends map[string]string `json:"backends"` // backed, unbacked, otherFamily, notCarried
	// RefusedSlices are the API server's words about a channel's slices; an empty text ends the refusal.
	RefusedSlices map[string]string `json:"refusedSlices"`
	// Excess says how a limit cuts a channel's endpoints; an empty text ends that.
	Excess  map[string]string `json:"excess"`
	Records map[string]string `json:"records"` // the channels that our slices carry, by port name on the mux
	Restart bool              `json:"restart"` // the process loses its memory
	// UnreadGateways is true until the process has read the Gateways after it started.
	UnreadGateways *bool `json:"unreadGateways"`
	// Leads is how long another process may still believe that it leads, because this process has just become the leader.
	Leads string `json:"leads"`
	// CrashAfter is the number of writes after which the next pass ends.
	CrashAfter int `json:"crashAfter"`
	// Blocked is what the API server refuses of the whole mux: "ledger: words" or "ports: words"; "nothing" ends it.
	Blocked string `json:"blocked"`
}

// listenerDoc is a document of kind Listener.
type listenerDoc struct {
	Kind     string          `json:"kind"`
	Name     string          `json:"name"` // the listener's key in package claimants, such as app/listenerset/broker/tcp
	Port     int32           `json:"port"`
	Protocol corev1.Protocol `json:"protocol"`
}

func readStory(t testing.TB, text []byte) *story {
	t.Helper()
	s := &story{stages: []stageOf{{title: "at first"}}}
	for _, part := range strings.Split(string(text), "\n---\n") {
		var doc map[string]any
		if err := yaml.Unmarshal([]byte(part), &doc); err != nil {
			t.Fatal(err)
		}
		if doc["kind"] == "Then" {
			s.stages = append(s.stages, stageOf{title: doc["title"].(string)})
			continue
		}
		last := &s.stages[len(s.stages)-1]
		last.docs = append(last.docs, doc)
	}
	return s
}

func as[T any](t testing.TB, doc map[string]any) T {
	t.Helper()
	text, err := yaml.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	var value T
	if err := yaml.UnmarshalStrict(text, &value); err != nil {
		t.Fatal(err)
	}
	return value
}

func (c *cluster) enact(t testing.TB, doc map[string]any) {
	t.Helper()
	switch doc["kind"] {
	case "Ledger":
		c.enactLedger(t, as[ledgerDoc](t, doc))
	case "World":
		c.enactWorld(t, as[worldDoc](t, doc))
	case "Service":
		c.enactService(t, doc)
	case "Listener":
		l := as[listenerDoc](t, doc)
		key := keyOf(t, l.Name)
		svc := c.services[key].DeepCopy()
		if svc == nil {
			svc = &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}
		}
		c.putListener(svc, l.Port, l.Protocol)
	default:
		t.Fatalf("a document of kind %v", doc["kind"])
	}
}

func (c *cluster) enactService(t testing.TB, doc map[string]any) {
	t.Helper()
	as[corev1.Service](t, doc) // fails for an unknown field
	meta := doc["metadata"].(map[string]any)
	key := types.NamespacedName{Name: meta["name"].(string), Namespace: "app"}
	if namespace, set := meta["namespace"].(string); set {
		key.Namespace = namespace
	}
	svc := c.services[key]
	if svc == nil {
		svc = &corev1.Service{}
		svc.Namespace, svc.Spec.Type = key.Namespace, corev1.ServiceTypeLoadBalancer
		if key != muxKey {
			class := c.language.Prefix() + "/mux"
			svc.Spec.LoadBalancerClass = &class
		}
	}
	if doc["status"] != nil {
		c.published[key] = true
	}
	c.put(merge(t, svc, doc))
}

func (c *cluster) enactWorld(t testing.TB, w worldDoc) {
	t.Helper()
	if w.Later != "" {
		later, err := time.ParseDuration(w.Later)
		if err != nil {
			t.Fatal(err)
		}
		c.now = c.now.Add(later)
	}
	c.contested = time.Time{}
	if w.Contested != "" {
		wait, err := time.ParseDuration(w.Contested)
		if err != nil {
			t.Fatal(err)
		}
		c.contested = c.now.Add(wait)
	}
	for namespace, text := range w.Limited {
		wait, err := time.ParseDuration(text)
		if err != nil {
			t.Fatal(err)
		}
		c.limited[namespace] = c.now.Add(wait)
	}
	for _, name := range w.Delete {
		delete(c.services, keyOf(t, name))
	}
	if w.Hidden != nil {
		c.hidden = keySet(t, w.Hidden)
	}
	for name, said := range w.Live {
		c.live[keyOf(t, name)] = map[string]plan.Liveness{"gone": plan.Gone, "present": plan.Present}[said]
	}
	if w.Refused != nil {
		clear(c.refused)
	}
	for name, words := range w.Refused {
		no := plan.PatchRefusal{Words: words, Withheld: slices.Contains(w.Withheld, name)}
		for _, text := range w.Unpublished[name] {
			no.Slots = append(no.Slots, slotFrom(t, text))
		}
		c.refused[keyOf(t, name)] = no
	}
	if w.Stuck != nil {
		c.stuck = keySet(t, w.Stuck)
	}
	for name, backing := range w.Backends {
		c.backends[keyOf(t, name)] = map[string]plan.Backing{
			"backed": plan.Backed, "unbacked": plan.Unbacked, "otherFamily": plan.OtherFamily, "notCarried": plan.NotCarried,
		}[backing]
	}
	for name, words := range w.RefusedSlices {
		c.refusedBy[keyOf(t, name)] = words
	}
	for name, words := range w.Excess {
		c.excess[keyOf(t, name)] = words
	}
	for name, channel := range w.Records {
		c.records[name] = keyOf(t, channel)
	}
	if what, words, said := strings.Cut(w.Blocked, ": "); said {
		c.blocked = &plan.Blocked{Ledger: what == "ledger", Words: words}
	} else if w.Blocked == "nothing" {
		c.blocked = nil
	}
	c.crashAfter = w.CrashAfter
	if w.Leads != "" {
		wait, err := time.ParseDuration(w.Leads)
		if err != nil {
			t.Fatal(err)
		}
		c.rebuildFrom = c.now.Add(wait)
	}
	if w.UnreadGateways != nil {
		c.unread = *w.UnreadGateways
	}
	if w.Restart {
		c.lastGood, c.frozen, c.unmet = nil, "", true
		c.forgetListeners()
	}
}

func (c *cluster) enactLedger(t testing.TB, l ledgerDoc) {
	t.Helper()
	c.why = l.Why
	switch l.Do {
	case "save":
		saved := c.ledger.Clone()
		c.saved = &saved
		return
	case "restore":
		restored := c.saved.Clone()
		c.ledger = &restored
		return
	case "edit":
		c.condition = plan.Edited
	case "empty":
		c.ledger.Claims, c.ledger.Hostnames = nil, nil
		c.condition = plan.Edited
	case "lose":
		c.ledger = nil
	case "unlabel":
		c.unlabelled = true
		return
	}
	if l.Do == "empty" || l.Do == "lose" {
		if !l.Remembered {
			c.lastGood = nil
		}
		return
	}
	found := map[string]plan.LedgerState{
		"": plan.Good, "good": plan.Good, "edited": plan.Edited, "unreadable": plan.Unreadable, "foreign": plan.Foreign,
		"newer": plan.Newer,
	}
	condition, known := found[l.Found]
	if !known {
		t.Fatalf("a ledger is found %s", l.Found)
	}
	c.condition = condition
	if l.Claims == nil && (l.Found != "" || l.Do != "") {
		return
	}
	c.name = l.Name
	c.ledger = &plan.Ledger{Mux: muxKey, Generation: l.Generation}
	for _, text := range l.Claims {
		c.ledger.Claims = append(c.ledger.Claims, c.claim(t, text))
	}
	for hostname, namespace := range l.Hostnames {
		c.ledger.Hostnames = append(c.ledger.Hostnames, plan.HostnameHolder{Hostname: hostname, Namespace: namespace})
	}
	c.ledger.Sort()
}

// claim parses a text such as "20000/TCP app/web http:80 auto 1f0c5fd25a8f8ad2a2cb until 10m".
func (c *cluster) claim(t testing.TB, text string) plan.Claim {
	t.Helper()
	fields := strings.Fields(text)
	var claim plan.Claim
	slot := strings.ReplaceAll(fields[0], "/", " ")
	port := strings.ReplaceAll(fields[2], ":", " ")
	if _, err := fmt.Sscan(slot, &claim.Public, &claim.Owner.Protocol); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	if _, err := fmt.Sscan(port, &claim.Owner.Name, &claim.Port); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	claim.Owner.Channel = keyOf(t, fields[1])
	if fields[3] == "auto" {
		claim.Source = plan.Auto
	}
	for i, field := range fields[4:] {
		switch field {
		case "releasing":
			claim.State = plan.Releasing
		case "until":
			later, err := time.ParseDuration(fields[4+i+1])
			if err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			claim.State, claim.Until = plan.InGrace, c.now.Add(later)
			return claim
		default:
			claim.MuxName = field
		}
	}
	return claim
}

func keyOf(t testing.TB, name string) types.NamespacedName {
	t.Helper()
	namespace, name, found := strings.Cut(name, "/")
	if !found {
		t.Fatalf("%s isn't a namespace and a name", namespace)
	}
	return types.NamespacedName{Namespace: namespace, Name: name}
}

func keySet(t testing.TB, names []string) map[types.NamespacedName]bool {
	t.Helper()
	keys := map[types.NamespacedName]bool{}
	for _, name := range names {
		keys[keyOf(t, name)] = true
	}
	return keys
}

func printed(p *plan.Plan) string {
	var b bytes.Buffer
	p.Print(&b)
	return b.String()
}

// shortened cuts long lines, and leaves lines out of long lists.
func shortened(text string) string {
	const most = 12
	var out []string
	run, left := 0, 0
	flush := func() {
		if left > 0 {
			out = append(out, fmt.Sprintf("  (and %d more lines)", left))
		}
		run, left = 0, 0
	}
	kind := ""
	for _, line := range strings.Split(text, "\n") {
		if len(line) > 300 {
			line = line[:300] + "..."
		}
		is := lineKind(line)
		if is == "" || is != kind {
			flush()
		}
		kind = is
		if run++; is != "" && run > most {
			left++
			continue
		}
		out = append(out, line)
	}
	flush()
	return strings.Join(out, "\n")
}

// lineKind returns the kind of a line: lines of one list have the same kind.
func lineKind(line string) string {
	switch {
	case strings.HasPrefix(line, "  "):
		return "detail"
	case strings.Contains(line, "refused") || strings.Contains(line, "accepted"):
		return "verdict"
	}
	for _, prefix := range [...]string{"show ", "hide ", "event on "} {
		if strings.HasPrefix(line, prefix) {
			return prefix
		}
	}
	return ""
}

// tell plays a story and prints the decisions.
func (s *story) tell(t testing.TB, c *cluster) string {
	t.Helper()
	var b strings.Builder
	for i, stage := range s.stages {
		for _, doc := range stage.docs {
			c.enact(t, doc)
		}
		fmt.Fprintf(&b, "=== %s\n", stage.title)
		var passes []string
		err := c.settle(func(asked []types.NamespacedName, p *plan.Plan) {
			for _, key := range asked {
				passes = append(passes, fmt.Sprintf("confirm %s\n", key))
			}
			passes = append(passes, printed(p))
		})
		if i == 0 && len(s.stages) > 1 && err == nil {
			passes = passes[len(passes)-1:] // the first stage only sets the scene: its last pass is enough
		}
		b.WriteString(shortened(strings.Join(passes, "\n")) + "\n")
		if err != nil {
			t.Errorf("%s: %v\n%s", stage.title, err, b.String())
			return b.String()
		}
	}
	return b.String()
}

func worlds(t testing.TB) []*golden.Archive { return golden.Stories(t, "testdata/worlds/*.txtar") }

func TestWorlds(t *testing.T) {
	all := worlds(t)
	if len(all) < 60 {
		t.Errorf("%d worlds, which isn't a manual", len(all))
	}
	for _, world := range all {
		t.Run(world.Name(), func(t *testing.T) {
			world.Compare(t, "passes.txt", readStory(t, world.Input()).tell(t, newCluster(t)))
		})
	}
}

// slotFrom parses a text such as 81/TCP.
func slotFrom(t testing.TB, text string) plan.Slot {
	t.Helper()
	number, protocol, _ := strings.Cut(text, "/")
	n, err := strconv.ParseInt(number, 10, 32)
	if err != nil {
		t.Fatal(err)
	}
	return plan.Slot{Number: int32(n), Protocol: corev1.Protocol(protocol)}
}

// TestEveryReasonHasAWorld: the worlds are the manual of decisions, so each reason must occur in one.
func TestEveryReasonHasAWorld(t *testing.T) {
	source, err := os.ReadFile("reasons.go")
	if err != nil {
		t.Fatal(err)
	}
	var manual strings.Builder
	for _, world := range worlds(t) {
		manual.WriteString(world.Section("passes.txt"))
	}
	found := regexp.MustCompile(`validation\.Reason = "(\w+)"`).FindAllStringSubmatch(string(source), -1)
	if len(found) < 20 {
		t.Fatalf("%d reasons", len(found))
	}
	for _, reason := range found {
		switch validation.Reason(reason[1]) {
		case plan.SliceNameTaken: // worlds have no slices: test/e2e/backends shows this reason
			continue
		case plan.SourceRangesExceeded: // thousands of networks: TestANamespaceHasALimitOfSourceRanges shows this reason
			continue
		case plan.MuxNotServed: // worlds have no muxes that aren't served: TestUnserved shows this reason
			continue
		}
		if !strings.Contains(manual.String(), reason[1]) {
			t.Errorf("no world shows %s", reason[1])
		}
	}
}
