package plan_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"nowake.ai/svc-lb-mux/internal/testkit/golden"
	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
	"nowake.ai/svc-lb-mux/validation"
)

// TestHistories plays random actions of users, providers and GitOps tools, and crashes. It checks every write against
// the promises, and that each history comes to rest.
func TestHistories(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		h := &history{cluster: newCluster(t), r: r, listens: rapid.Bool().Draw(r, "listens")}
		h.createMux()
		for range rapid.IntRange(1, 25).Draw(r, "deeds") {
			h.deed()
			h.must(h.pass())
		}
		h.mend()
		h.must(h.settle(func(_ []types.NamespacedName, p *plan.Plan) { h.note("decided\n%s", terse(p)) }))
	})
}

// terse leaves messages out of a plan.
func terse(p *plan.Plan) string {
	var lines []string
	for _, line := range strings.Split(printed(p), "\n") {
		of, _, _ := strings.Cut(line, ": ")
		switch {
		case strings.HasPrefix(line, "frozen"), strings.HasPrefix(line, "again"), strings.HasPrefix(line, "confirm"):
			lines = append(lines, "  "+line)
		case strings.HasPrefix(line, "reserve"), strings.HasPrefix(line, "publish"), strings.HasPrefix(line, "settle"),
			strings.HasPrefix(line, "hide"), strings.HasPrefix(line, "show"):
			lines = append(lines, "  "+of)
		case strings.HasPrefix(line, "  ") && strings.Contains(of, "/TCP") || strings.Contains(of, "/UDP"):
			lines = append(lines, "  "+line)
		}
	}
	return strings.Join(lines, "\n")
}

type history struct {
	*cluster
	r   *rapid.T
	log []string
	// mended is the condition in which the ledger is read, once it is readable again.
	mended plan.LedgerState
	// listens is true if listeners of Gateways ask for numbers, too.
	listens bool
}

func (h *history) note(format string, args ...any) {
	h.log = append(h.log, fmt.Sprintf(format, args...))
}

func (h *history) must(err error) {
	if err != nil {
		h.r.Fatalf("%s\n%v", strings.Join(h.log, "\n"), err)
	}
}

func pick[T any](h *history, what string, from ...T) T {
	return rapid.SampledFrom(from).Draw(h.r, what)
}

func (h *history) chance(what string, percent int) bool {
	return rapid.IntRange(1, 100).Draw(h.r, what) <= percent
}

func (h *history) key(name string) string { return h.language.Prefix() + "/" + name }

// pass decides, and carries out the steps that come before a crash.
func (h *history) pass() error {
	if err := h.checkPure(); err != nil {
		return err
	}
	h.unreadable = h.chance("unreadable", 20) // live reads fail
	_, p := h.decide()
	h.unreadable = false
	if p == nil {
		h.note("nothing can be confirmed")
		return nil
	}
	n := len(h.steps(p))
	if h.chance("crash", 25) {
		n = rapid.IntRange(0, n).Draw(h.r, "steps")
	}
	h.note("decided; %d steps carried out\n%s", n, terse(p))
	w := h.watched()
	if h.chance("meanwhile", 15) {
		h.askers()
	}
	err := h.applySome(p, w, n)
	if err != nil && strings.Contains(err.Error(), "at version") { // a write conflict
		h.note("somebody was faster")
		h.lastGood = nil
		return nil
	}
	return err
}

// deed draws one event of the history.
func (h *history) deed() {
	switch rapid.IntRange(0, 9).Draw(h.r, "who") {
	case 0, 1, 2, 3, 4:
		h.askers()
	case 5:
		h.owner()
	case 6:
		h.provider()
	case 7:
		h.drift()
	case 8:
		h.ledgerDeed()
	case 9:
		h.weather()
	}
}

// askers plays people with channels, or with listeners.
func (h *history) askers() {
	if h.listens && h.chance("listener", 50) {
		h.listeners()
		return
	}
	h.people()
}

// people creates, edits and deletes channels.
func (h *history) people() {
	key := types.NamespacedName{
		Namespace: pick(h, "namespace", "app", "other"), Name: pick(h, "name", "a", "b", "c", "d"),
	}
	svc := h.services[key]
	switch {
	case svc == nil:
		h.createChannel(key)
	case h.chance("delete", 20):
		h.note("%s is deleted", key)
		delete(h.services, key)
	case h.chance("disable", 15):
		h.toggleDisabled(svc.DeepCopy())
	case h.chance("restrict", 8):
		h.toggleRanges(svc.DeepCopy())
	case h.chance("rename", 25):
		h.rename(svc.DeepCopy())
	case h.chance("hold", 5):
		held := svc.DeepCopy()
		at := metav1.NewTime(h.now)
		held.DeletionTimestamp, held.Finalizers = &at, []string{"example.com/hold"}
		h.note("%s is being deleted", key)
		h.put(held)
	default:
		h.edit(svc.DeepCopy())
	}
}

func (h *history) createChannel(key types.NamespacedName) {
	class := h.language.Prefix() + "/mux"
	svc := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}
	svc.Spec.Type, svc.Spec.LoadBalancerClass = corev1.ServiceTypeLoadBalancer, &class
	svc.CreationTimestamp = metav1.NewTime(h.now.Add(-time.Duration(rapid.IntRange(0, 3).Draw(h.r, "age")) * time.Hour))
	h.edit(svc)
}

// edit gives a channel other ports.
func (h *history) edit(svc *corev1.Service) {
	names := []string{"x", "y", "z"}[:rapid.IntRange(1, 3).Draw(h.r, "ports")]
	var asked []string
	svc.Spec.Ports = nil
	taken := map[string]bool{}
	for _, name := range names {
		port := corev1.ServicePort{Name: name,
			Protocol: pick(h, "protocol", corev1.ProtocolTCP, corev1.ProtocolTCP, corev1.ProtocolUDP)}
		for port.Port = int32(rapid.IntRange(100, 104).Draw(h.r, "port")); taken[fmt.Sprint(port.Port, port.Protocol)]; {
			port.Port++
		}
		taken[fmt.Sprint(port.Port, port.Protocol)] = true
		svc.Spec.Ports = append(svc.Spec.Ports, port)
		if asks := pick(h, "asks", "", "auto", "auto", "102", "203", "204", "205", "203-204", "204-206"); asks != "" {
			asked = append(asked, name+":"+asks)
		}
	}
	if h.chance("slip", 5) {
		asked = append(asked, "nobody:80")
	}
	h.annotate(svc, h.key("external-ports"), strings.Join(asked, ","))
	h.annotate(svc, h.key("external-dns-hostname"),
		pick(h, "hostname", "", "", "a.example.com", "a.example.com,b.example.com"))
	if h.chance("forge", 10) {
		h.annotate(svc, h.key("ports"), "x:100->"+pick(h, "forged", "203", "204", "102"))
	}
	h.note("%s/%s has %v, asks for %q", svc.Namespace, svc.Name, portList(svc), asked)
	h.put(svc)
}

func portList(svc *corev1.Service) []string {
	var list []string
	for _, port := range svc.Spec.Ports {
		list = append(list, fmt.Sprintf("%s:%d/%s", port.Name, port.Port, port.Protocol))
	}
	return list
}

func (h *history) annotate(svc *corev1.Service, key, value string) {
	svc.Annotations = maps.Clone(svc.Annotations)
	if svc.Annotations == nil {
		svc.Annotations = map[string]string{}
	}
	svc.Annotations[key] = value
	if value == "" {
		delete(svc.Annotations, key)
	}
}

func (h *history) toggleDisabled(svc *corev1.Service) {
	value := "true"
	if svc.Annotations[h.key("disabled")] == "true" {
		value = ""
	}
	h.annotate(svc, h.key("disabled"), value)
	h.note("%s/%s: disabled is %q", svc.Namespace, svc.Name, value)
	h.put(svc)
}

func (h *history) toggleRanges(svc *corev1.Service) {
	svc.Spec.LoadBalancerSourceRanges = map[bool][]string{
		true: {"192.0.2.0/24"}}[len(svc.Spec.LoadBalancerSourceRanges) == 0]
	h.note("%s/%s: source ranges are %v", svc.Namespace, svc.Name, svc.Spec.LoadBalancerSourceRanges)
	h.put(svc)
}

// rename gives all ports other names.
func (h *history) rename(svc *corev1.Service) {
	asked := svc.Annotations[h.key("external-ports")]
	for i := range svc.Spec.Ports {
		name := svc.Spec.Ports[i].Name
		svc.Spec.Ports[i].Name = name + "r"
		asked = strings.ReplaceAll(asked, name+":", name+"r:")
	}
	if len(svc.Spec.Ports[0].Name) > 5 {
		return
	}
	h.annotate(svc, h.key("external-ports"), asked)
	h.note("%s/%s: ports are renamed to %v", svc.Namespace, svc.Name, portList(svc))
	h.put(svc)
}

func (h *history) createMux() {
	svc := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: muxKey.Namespace, Name: muxKey.Name}}
	svc.Annotations = map[string]string{h.key("multiplexer"): "true", h.key("port-range"): "203-206"}
	svc.Spec.Type = corev1.ServiceTypeLoadBalancer
	if class := "gateway." + h.language.Prefix() + "/edge"; h.chance("gateways", 40) {
		svc.Spec.LoadBalancerClass = &class
	}
	svc.Spec.Ports = []corev1.ServicePort{{Name: "placeholder", Port: 101}}
	svc.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: "203.0.113.10"}}
	h.note("the mux is made")
	h.put(svc)
}

// owner changes the mux.
func (h *history) owner() {
	svc := h.mux()
	if svc == nil {
		h.createMux()
		return
	}
	svc = svc.DeepCopy()
	setting := pick(h, "setting", "port-range", "explicit-range", "max-ports", "max-ports-per-namespace",
		"allowed-namespaces", "allowed-protocols", "release-grace", "placeholder", "disabled", "multiplexer", "helm",
		"selector", "deleted", "gke", "synced again", "allocation-configmap", "allocation-configmap")
	switch setting {
	case "deleted":
		h.note("the mux is deleted")
		delete(h.services, muxKey)
		return
	case "synced again":
		h.syncAgain()
		return
	case "selector":
		svc.Spec.Selector = pick(h, "selector", map[string]string{"app": "x"}, nil, nil)
	case "helm":
		h.annotate(svc, "meta.helm.sh/release-name", pick(h, "helm", "", "muxes"))
	case "gke":
		h.annotate(svc, "cloud.google.com/l4-rbs", pick(h, "gke", "", "enabled"))
	default:
		h.annotate(svc, h.key(setting), pick(h, "value", map[string][]string{
			"port-range":     {"203-206", "203-204", "300-302", "", "203-", "203-206"},
			"explicit-range": {"", "100-199", "102-204", ""},
			"max-ports":      {"", "2", "4", "6", ""}, "max-ports-per-namespace": {"", "2", "3", ""},
			"allowed-namespaces": {"", "app", "", "*"}, "allowed-protocols": {"", "TCP", "TCP,UDP"},
			"release-grace": {"", "10m", "1h", "0s"}, "placeholder": {"", "keep", "remove"}, "disabled": {"", "true", "", "yes"},
			"multiplexer": {"true", "", "true", "yes"}, "allocation-configmap": {"", "one", "other"},
		}[setting]...))
	}
	h.note("the mux: %s: %v %v", setting, svc.Annotations[h.key(setting)], svc.Spec.Selector)
	h.put(svc)
}

// syncAgain deletes the mux with its channels and creates the mux again. Its channels come later, as people create
// them.
func (h *history) syncAgain() {
	h.note("the mux and its channels are deleted, and the mux is created again")
	stay := h.listens && h.chance("listeners stay", 50) // because their Gateway stays
	for _, key := range h.channels() {
		if !stay || !isListener(key) {
			delete(h.services, key)
		}
	}
	delete(h.services, muxKey)
	if h.chance("pass between", 50) {
		h.must(h.pass())
	}
	h.createMux()
}

func (h *history) provider() {
	if h.mux() == nil {
		return
	}
	svc := h.mux().DeepCopy()
	svc.Status.LoadBalancer.Ingress = pick(h, "address", nil, []corev1.LoadBalancerIngress{{IP: "203.0.113.10"}},
		[]corev1.LoadBalancerIngress{{Hostname: "lb.example.com"}, {IP: "2001:db8::1"}})
	h.note("the mux's address is %v", svc.Status.LoadBalancer.Ingress)
	h.put(svc)
}

// drift changes our part of an object, as other writers do.
func (h *history) drift() {
	if h.mux() == nil {
		return
	}
	svc := h.mux().DeepCopy()
	i := rapid.IntRange(0, len(svc.Spec.Ports)-1).Draw(h.r, "which")
	port := &svc.Spec.Ports[i]
	switch what := pick(h, "drift", "remove", "rename", "move", "add", "add", "notes", "channel"); {
	case what == "remove" && len(svc.Spec.Ports) > 1:
		h.note("somebody removes %s from the mux", port.Name)
		svc.Spec.Ports = slices.Delete(svc.Spec.Ports, i, i+1)
	case what == "rename" && !h.foreign(port):
		h.note("somebody renames %s on the mux", port.Name)
		port.Name = fmt.Sprintf("mine-%d", h.version)
	case what == "move" && !h.foreign(port):
		h.note("somebody moves %s on the mux", port.Name)
		port.Port = pick(h, "to", int32(100), 203, 204, 999)
	case what == "add":
		h.note("somebody adds a port to the mux")
		svc.Spec.Ports = append(svc.Spec.Ports, corev1.ServicePort{
			Name: fmt.Sprintf("own-%d", h.version), Protocol: corev1.ProtocolTCP, Port: pick(h, "number", int32(104), 206, 7000),
		})
	case what == "notes":
		h.note("somebody changes the notes on the mux")
		h.annotate(svc, h.key("summary"), "all is well")
		h.annotate(svc, "external-dns.alpha.kubernetes.io/hostname", pick(h, "names", "", "own.example.com"))
	case what == "channel":
		h.driftChannel()
		return
	}
	if acceptable(svc.Spec.Ports) == nil {
		h.put(svc)
	}
}

func (h *history) driftChannel() {
	keys := h.channels()
	if len(keys) == 0 {
		return
	}
	key := pick(h, "channel", keys...)
	if isListener(key) {
		return // its conditions are in the process's memory
	}
	svc := h.services[key].DeepCopy()
	h.note("somebody changes the status of %s", svc.Name)
	svc.Status.LoadBalancer.Ingress = nil
	svc.Status.Conditions = nil
	h.put(svc)
}

// ledgerDeed plays changes of the ConfigMaps.
func (h *history) ledgerDeed() {
	if h.ledger == nil {
		return
	}
	deed := pick(h, "ledger", "lose", "empty", "edit", "break", "mend", "save", "restore")
	h.note("the ledger: %s", deed)
	switch deed {
	case "lose":
		h.ledger, h.condition = nil, plan.Good
	case "empty":
		h.ledger.Claims, h.ledger.Hostnames = nil, nil
		h.condition = plan.Edited
	case "edit":
		h.condition = plan.Edited
		if len(h.ledger.Claims) > 0 {
			i := rapid.IntRange(0, len(h.ledger.Claims)-1).Draw(h.r, "claim")
			h.ledger.Claims = slices.Delete(h.ledger.Claims, i, i+1)
		}
	case "break":
		h.breakLedger()
	case "mend":
		h.mendLedger()
	case "save":
		saved := h.ledger.Clone()
		h.saved = &saved
	case "restore":
		h.restore()
	}
}

func (h *history) breakLedger() {
	if h.condition != plan.Unreadable {
		h.mended = h.condition
	}
	h.condition, h.why = plan.Unreadable, "it can't be read"
}

func (h *history) mendLedger() {
	if h.condition == plan.Unreadable {
		h.condition, h.why = h.mended, ""
	}
}

func (h *history) restore() {
	if h.saved == nil {
		return
	}
	restored := h.saved.Clone()
	if restored.Generation == h.ledger.Generation {
		return // the same decision; nothing shows what was settled since
	}
	stamped := h.mux() != nil &&
		h.mux().Annotations[h.key("generation")] == validation.FormatGeneration(h.ledger.Generation)
	if !stamped || restored.Generation > h.ledger.Generation {
		clear(h.established) // the mux's stamp can't tell this copy from the right ledger
	}
	h.ledger, h.condition = &restored, plan.Good
}

// weather plays what happens to the process.
func (h *history) weather() {
	what := pick(h, "weather", "restart", "hide", "unhide", "stuck", "unstuck", "later", "refused", "taken", "backends")
	h.note("weather: %s", what)
	keys := h.channels()
	if len(keys) == 0 {
		return
	}
	key := pick(h, "channel", keys...)
	switch what {
	case "restart":
		h.lastGood, h.rebuildFrom, h.unmet = nil, h.now.Add(15*time.Second), true
		h.restartListeners()
	case "hide":
		h.hidden[key] = true
	case "unhide":
		clear(h.hidden)
		h.unread = false
	case "stuck":
		if !isListener(key) { // a listener's address is in memory: no write of it can fail
			h.stuck[key] = true
		}
	case "unstuck":
		clear(h.stuck)
	case "refused":
		h.refused[key] = plan.PatchRefusal{Words: "no"}
	case "taken":
		clear(h.refused)
	case "later":
		h.now = h.now.Add(15 * time.Minute)
	case "backends":
		h.backends[key] = pick(h, "backing", plan.Backed, plan.Unbacked)
	}
}

// mend ends everything that keeps the world from coming to rest.
func (h *history) mend() {
	h.note("all is mended")
	clear(h.hidden)
	h.unread = false
	clear(h.stuck)
	clear(h.refused)
	h.mendLedger()
	h.rebuildFrom = time.Time{}
}

func FuzzHistories(f *testing.F) {
	golden.Seeds(f)
	f.Fuzz(func(t *testing.T, input []byte) {
		rapid.MakeFuzz(func(r *rapid.T) {
			h := &history{cluster: newCluster(t), r: r}
			h.createMux()
			for range rapid.IntRange(1, 25).Draw(r, "deeds") {
				h.deed()
				h.must(h.pass())
			}
		})(t, input)
	})
}
