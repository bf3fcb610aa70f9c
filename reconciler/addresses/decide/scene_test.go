package decide_test

import (
	"encoding/json"
	"net/netip"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/balancer/claims"
	"nowake.ai/svc-lb-mux/balancer/lease"
	"nowake.ai/svc-lb-mux/reconciler/addresses/decide"
	"nowake.ai/svc-lb-mux/reconciler/addresses/pool/config"
	"nowake.ai/svc-lb-mux/validation"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// scene is a World as a golden test writes it. Times are seconds before noon.
type scene struct {
	Note string `json:"note"`
	// Pool is an entry of the file of pools.
	Pool map[string]any `json:"pool"`
	// Claims is the JSON in the ConfigMap. Without it there is none.
	Claims     map[string]any    `json:"claims"`
	Unreadable string            `json:"unreadable"`
	Waits      bool              `json:"waits"`
	Muxes      []sceneMux        `json:"muxes"`
	Gateways   []sceneGateway    `json:"gateways"`
	Cached     bool              `json:"cached"`
	Namespaces []string          `json:"namespaces"`
	Elsewhere  map[string]string `json:"elsewhere"`
	Deleted    map[string]string `json:"deleted"`
	Missing    map[string]int    `json:"missing"`
}

type sceneMux struct {
	Name        string                       `json:"name"`
	UID         string                       `json:"uid"`
	Class       string                       `json:"class"`
	Plain       bool                         `json:"plain"` // not a mux
	Age         int                          `json:"age"`
	Annotations map[string]string            `json:"annotations"`
	Families    []corev1.IPFamily            `json:"families"`
	Policy      corev1.IPFamilyPolicy        `json:"policy"`
	Shown       []string                     `json:"shown"`
	Ingress     []corev1.LoadBalancerIngress `json:"ingress"`
	Addressed   string                       `json:"addressed"`
	Carried     string                       `json:"carried"`
	CarriedBy   string                       `json:"carriedBy"`
}

type sceneGateway struct {
	Name       string              `json:"name"`
	Zone       string              `json:"zone"`
	Capacity   *int                `json:"capacity"`
	Stale      bool                `json:"stale"`
	NoFacts    bool                `json:"noFacts"`
	Labels     map[string]string   `json:"labels"`
	Addresses  []string            `json:"addresses"`
	Holds      []int               `json:"holds"`
	Programmed map[string][]string `json:"programmed"` // addresses by UID
	Refused    map[string]string   `json:"refused"`    // message by UID
	Omitted    int                 `json:"omitted"`
	Fault      string              `json:"fault"`
	// Sends and Believes are the intervals that the gateway reports for the stored claims, or for older ones if Late is
	// true.
	Sends    string `json:"sends"`
	Believes string `json:"believes"`
	Late     bool   `json:"late"`
}

func language(t testing.TB) validation.Language {
	t.Helper()
	l, err := validation.New(validation.DefaultPrefix, "edge")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func (s *scene) world(t testing.TB) *decide.World {
	t.Helper()
	text, err := json.Marshal(map[string]any{"pools": []any{s.Pool}})
	if err != nil {
		t.Fatal(err)
	}
	pools, err := config.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	w := &decide.World{Pool: pools[0], IsLive: !s.Cached, Namespaces: s.Namespaces, Now: noon,
		Missing: map[types.NamespacedName]time.Time{}}
	w.Stored = decide.Stored{Version: lease.Version{ResourceVersion: "2"}, Problem: s.Unreadable, MayRebuild: !s.Waits}
	if s.Claims != nil {
		text, err := json.Marshal(s.Claims)
		if err != nil {
			t.Fatal(err)
		}
		c, err := claims.Decode(&corev1.ConfigMap{Data: map[string]string{claims.Key: string(text)}}, pools[0].Name)
		if err != nil {
			t.Fatal(err)
		}
		w.Stored.Claims = &c
	}
	for i := range s.Muxes {
		m, is := decide.Parse(language(t), s.Muxes[i].service(t))
		switch {
		case !is:
			t.Fatalf("%s has nothing to do with gateways", s.Muxes[i].Name)
		case m.IsMux && m.Pool == w.Pool.Name:
			w.Muxes = append(w.Muxes, m)
		default:
			w.Others = append(w.Others, m)
		}
	}
	for i := range s.Gateways {
		w.Gateways = append(w.Gateways, s.Gateways[i].gateway(w.Pool.Name))
	}
	for a, holder := range s.Elsewhere {
		w.Elsewhere = append(w.Elsewhere, decide.Reserved{Address: netip.MustParseAddr(a), Holder: holder})
	}
	w.Deleted = map[types.NamespacedName]types.UID{}
	for name, uid := range s.Deleted {
		w.Deleted[types.NamespacedName{Namespace: "edge", Name: name}] = types.UID(uid)
	}
	for name, ago := range s.Missing {
		w.Missing[types.NamespacedName{Namespace: "edge", Name: name}] = noon.Add(-time.Duration(ago) * time.Second)
	}
	return w
}

func (m *sceneMux) service(t testing.TB) *corev1.Service {
	l := language(t)
	class := m.Class
	if class == "" {
		class = l.FormatGatewayClass("p")
	}
	uid := m.UID
	if uid == "" {
		uid = m.Name
	}
	svc := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "edge", Name: m.Name, UID: types.UID(uid), ResourceVersion: "1",
			Annotations:       map[string]string{},
			CreationTimestamp: metav1.NewTime(noon.Add(-time.Duration(m.Age) * time.Second))},
		Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer, LoadBalancerClass: &class, IPFamilies: m.Families},
	}
	if m.Policy != "" {
		svc.Spec.IPFamilyPolicy = &m.Policy
	}
	if len(m.Families) == 0 {
		svc.Spec.IPFamilies = []corev1.IPFamily{corev1.IPv4Protocol}
	}
	if !m.Plain {
		svc.Annotations[l.Keys().Multiplexer] = "true"
	}
	for name, value := range m.Annotations {
		svc.Annotations[l.Prefix()+"/"+name] = value
	}
	if m.CarriedBy != "" {
		svc.Annotations[l.Keys().CarriedBy] = m.CarriedBy
	}
	proxy := corev1.LoadBalancerIPModeProxy
	svc.Status.LoadBalancer.Ingress = m.Ingress
	for _, a := range m.Shown {
		svc.Status.LoadBalancer.Ingress = append(svc.Status.LoadBalancer.Ingress,
			corev1.LoadBalancerIngress{IP: a, IPMode: &proxy})
	}
	add := func(kind, reason string) {
		if reason != "" {
			svc.Status.Conditions = append(svc.Status.Conditions,
				metav1.Condition{Type: kind, Status: metav1.ConditionTrue, Reason: reason})
		}
	}
	add(l.Keys().Addressed, m.Addressed)
	add(l.Keys().Carried, m.Carried)
	return svc
}

func (g *sceneGateway) gateway(pool string) decide.Gateway {
	capacity := 1
	if g.Capacity != nil {
		capacity = *g.Capacity
	}
	made := decide.Gateway{IsLive: !g.Stale, Gateway: lease.Gateway{Name: g.Name, Pool: pool, Labels: g.Labels,
		Facts: &lease.Facts{Zone: g.Zone, Capacity: capacity}, Report: &lease.Report{Omitted: g.Omitted}}}
	for _, a := range g.Addresses {
		made.Facts.Addresses = append(made.Facts.Addresses, netip.MustParseAddr(a))
	}
	for _, id := range g.Holds {
		made.Report.Holds = append(made.Report.Holds, uint8(id))
	}
	uids := map[string]bool{}
	for uid := range g.Programmed {
		uids[uid] = true
	}
	for uid := range g.Refused {
		uids[uid] = true
	}
	for uid := range uids {
		m := lease.Mux{UID: types.UID(uid)}
		for _, a := range g.Programmed[uid] {
			m.Programmed = append(m.Programmed, netip.MustParseAddr(a))
		}
		if message := g.Refused[uid]; message != "" {
			m.Refused = []lease.Refusal{{Port: "http", Reason: "PortsOverlap", Message: message}}
		}
		made.Report.Muxes = append(made.Report.Muxes, m)
	}
	slices.SortFunc(made.Report.Muxes, func(a, b lease.Mux) int { return len(a.UID) - len(b.UID) })
	if g.Sends != "" {
		sends, _ := time.ParseDuration(g.Sends)
		believes, _ := time.ParseDuration(g.Believes)
		made.Report.Adverts, made.Report.Claims.ResourceVersion = &lease.Adverts{Sends: sends, Believes: believes}, "2"
	}
	if g.Late {
		made.Report.Claims.ResourceVersion = "1"
	}
	if g.NoFacts {
		made.Facts, made.Problems = nil, []string{"the facts can't be read"}
	}
	if g.Fault != "" {
		made.Report.Faults = []lease.Refusal{{Reason: "Fault", Message: g.Fault}}
	}
	return made
}
