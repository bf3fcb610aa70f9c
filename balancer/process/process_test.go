package process_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/client-go/kubernetes/scheme"

	"nowake.ai/svc-lb-mux/balancer/lease"
	"nowake.ai/svc-lb-mux/balancer/process"
	"nowake.ai/svc-lb-mux/test/nettest"
	"nowake.ai/svc-lb-mux/validation"
)

// The process of a test is the test binary with its flags in this variable.
const childFlags = "GATEWAY_PROCESS_OF_A_TEST"

func TestMain(m *testing.M) {
	if text := os.Getenv(childFlags); text != "" {
		options := process.DefaultOptions(os.Getenv)
		set := flag.NewFlagSet("agent", flag.ExitOnError)
		options.AddFlags(set)
		_ = set.Parse(strings.Split(text, " "))
		ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
		defer stop()
		if err := errors.Join(options.Check(), process.Run(ctx, options, "test", os.Stderr)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// stub is as much of an API server as an agent needs. Its watches bring no events.
type stub struct {
	mu      sync.Mutex
	asked   map[string]string // the last selectors by path
	lease   *coordinationv1.Lease
	written int
}

const claimsText = `{"schemaVersion":1,"pool":"p","gateways":[{"name":"a","addresses":["10.9.1.1"]}],` +
	`"seats":[{"routerID":7,"order":["a"]}],` +
	`"muxes":[{"namespace":"edge","name":"web","uid":"web","addresses":["10.9.1.100"],"seat":7}]}`

func (s *stub) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	query := r.URL.Query()
	if query.Get("watch") != "" {
		if query.Get("sendInitialEvents") != "" {
			w.WriteHeader(http.StatusUnprocessableEntity)
			fmt.Fprint(
				w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Invalid","code":422,`+
					`"message":"no initial events here"}`)
			return
		}
		w.(http.Flusher).Flush()
		<-r.Context().Done()
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	selector := query.Get("fieldSelector") + query.Get("labelSelector")
	if selector != "" {
		s.asked[r.URL.Path] = selector
	}
	list := func(kind, version, items string) {
		fmt.Fprintf(w, `{"kind":%q,"apiVersion":%q,"metadata":{"resourceVersion":"5"},"items":[%s]}`, kind, version, items)
	}
	switch {
	case r.URL.Path == "/api/v1/namespaces/edge/services":
		list("ServiceList", "v1",
			`{"metadata":{"namespace":"edge","name":"web","uid":"web"},"spec":{"loadBalancerClass":"gateway.`+
				validation.DefaultPrefix+`/p","ports":[{"name":"http","port":80,"protocol":"TCP"}]}}`)
	case r.URL.Path == "/apis/discovery.k8s.io/v1/namespaces/edge/endpointslices":
		const prefix = validation.DefaultPrefix
		list("EndpointSliceList", "discovery.k8s.io/v1",
			fmt.Sprintf(`{"metadata":{"namespace":"edge","name":"web-1","labels":{`+
				`"kubernetes.io/service-name":"web"},"annotations":{"%s/managed":"true","%s/source-ranges":""},`+
				`"ownerReferences":[{"apiVersion":"v1",`+
				`"kind":"Service","name":"web","uid":"web"}]},"addressType":"IPv4","ports":[{"name":"http","port":8080,`+
				`"protocol":"TCP"}],`+
				`"endpoints":[{"addresses":["10.9.2.11"]}]}`, prefix, prefix))
	case r.URL.Path == "/api/v1/namespaces/lb/configmaps":
		data, _ := json.Marshal(claimsText)
		list("ConfigMapList", "v1",
			fmt.Sprintf(
				`{"metadata":{"namespace":"lb","name":"svc-lb-mux-pool-p","uid":"c","resourceVersion":"3"},`+
					`"data":{"claims.json":%s}}`, data))
	case strings.HasPrefix(r.URL.Path, "/apis/coordination.k8s.io/v1/namespaces/lb/leases"):
		s.serveLease(w, r)
	default:
		w.WriteHeader(http.StatusForbidden)
		fmt.Fprintf(
			w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403,`+
				`"message":"may not %s %s"}`, r.Method, r.URL.Path)
	}
}

func (s *stub) serveLease(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet && s.lease == nil {
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprint(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404}`)
		return
	}
	if r.Method != http.MethodGet {
		body, _ := io.ReadAll(r.Body)
		object, _, err := scheme.Codecs.UniversalDeserializer().Decode(body, nil, nil)
		next, is := object.(*coordinationv1.Lease)
		if err != nil || !is {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		s.written++
		next.ResourceVersion = fmt.Sprint(s.written)
		s.lease = next
	}
	_ = json.NewEncoder(w).Encode(s.lease)
}

// registered returns what the Lease tells; an empty gateway if there is no Lease.
func (s *stub) registered(keys validation.Keys) lease.Gateway {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lease == nil {
		return lease.Gateway{}
	}
	g, _ := lease.Read(s.lease, keys)
	return g
}

// site is a gateway with a client and a backend.
type site struct {
	client, gateway, backend *nettest.Namespace
	state, kubeconfig        string
	api                      *stub
	listener                 net.Listener
}

func newSite(t *testing.T) *site {
	t.Helper()
	s := &site{client: nettest.New(t), gateway: nettest.New(t), backend: nettest.New(t),
		state:      filepath.Join(t.TempDir(), "state"),
		kubeconfig: filepath.Join(t.TempDir(), "config"), api: &stub{asked: map[string]string{}}}
	s.gateway.Forward()
	s.gateway.Connect("front", s.client, "eth0")
	s.gateway.Connect("back", s.backend, "eth0")
	s.client.Address("eth0", "10.9.1.9/24")
	s.gateway.Address("front", "10.9.1.1/24")
	s.gateway.Address("back", "10.9.2.1/24")
	s.backend.Address("eth0", "10.9.2.11/24")
	s.backend.Serve(8080)
	err := s.gateway.Inside(func() (err error) {
		s.listener, err = net.Listen("tcp", "127.0.0.1:0")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: s.api, ReadHeaderTimeout: time.Second}
	go func() { _ = server.Serve(s.listener) }()
	t.Cleanup(func() { server.Close() })
	config := fmt.Sprintf(`{"apiVersion":"v1","kind":"Config","clusters":[{"name":"c","cluster":{"server":"http://%s"}}],`+
		`"contexts":[{"name":"c","context":{"cluster":"c"}}],"current-context":"c"}`, s.listener.Addr())
	if err := os.WriteFile(s.kubeconfig, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	return s
}

// start starts the process. The returned function ends it with a signal.
func (s *site) start(t *testing.T, flags ...string) func(syscall.Signal) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	all := append([]string{"--name=a", "--pool=p", "--interface=front", "--source-addresses=10.9.2.1", "--namespace=lb",
		"--mux-namespaces=edge",
		"--state-dir=" + s.state, "--kubeconfig=" + s.kubeconfig, "--probe-address=127.0.0.1:8082", "--zone=z"}, flags...)
	command := exec.Command(self)
	command.Env = append(os.Environ(), childFlags+"="+strings.Join(all, " "))
	var log strings.Builder
	command.Stderr = &log
	if err := s.gateway.Inside(command.Start); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { defer close(ended); _ = command.Wait() }()
	end := func(signal syscall.Signal) {
		_ = command.Process.Signal(signal)
		<-ended
	}
	t.Cleanup(func() {
		end(syscall.SIGKILL)
		if t.Failed() {
			t.Logf("log of the process:\n%s", log.String())
		}
	})
	return end
}

func (s *site) awaitAnswer(t *testing.T) {
	t.Helper()
	var err error
	for range 100 {
		if _, _, err = s.client.Ask(netip.MustParseAddr("10.9.1.100"), 80); err == nil {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatalf("the mux doesn't answer: %v", err)
}

func (s *site) checkProbes(t *testing.T) {
	t.Helper()
	for path, part := range map[string]string{"healthz": "ok", "readyz": "ok",
		"metrics": "svc_lb_mux_gateway_muxes_programmed 1"} {
		if status, text, err := s.ask("8082", path); err != nil || status != http.StatusOK || !strings.Contains(text, part) {
			t.Errorf("%s: %d, %v\n%s", path, status, err, text)
		}
	}
}

func TestMistakesInTheOptionsNameTheWayOut(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*process.Options)
		want   string
	}{
		"a way back without networks of backends": {func(o *process.Options) { o.ReturnPath = "routed" },
			"--return-path=routed needs --backend-networks"},
		"a bad network": {func(o *process.Options) { o.BackendNetworks = "10.0.0.1/8" },
			`"10.0.0.1/8" isn't a network`},
		"with networks of backends": {func(o *process.Options) { o.ReturnPath, o.BackendNetworks = "routed", "10.0.0.0/8" },
			""},
	} {
		t.Run(name, func(t *testing.T) {
			o := process.DefaultOptions(func(string) string { return "" })
			o.Name, o.Kubeconfig = "a", "/etc/kubeconfig"
			test.change(&o)
			if err := o.Check(); fmt.Sprint(err) != "<nil>" && test.want == "" || !strings.Contains(fmt.Sprint(err), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}

func TestProcessCarriesAMuxAndSaysGoodbye(t *testing.T) {
	s := newSite(t)
	before := s.gateway.Run("sh", "-c", "nft list ruleset; ip -o address show dev front")
	end := s.start(t)
	s.awaitAnswer(t)
	language, err := validation.New(validation.DefaultPrefix, "edge")
	if err != nil {
		t.Fatal(err)
	}
	var g lease.Gateway
	for range 100 {
		g = s.api.registered(language.Keys())
		if mux, found := g.Report.Find("web"); found && len(mux.Programmed) == 1 && len(g.Report.Holds) == 1 {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	mux, _ := g.Report.Find("web")
	if g.Pool != "p" || g.Facts == nil || g.Facts.Zone != "z" || len(mux.Programmed) != 1 || len(g.Report.Holds) != 1 ||
		!g.IsFresh(time.Now()) {
		t.Fatalf("the Lease says %+v, report %+v", g, g.Report)
	}
	s.api.mu.Lock()
	for path, selector := range map[string]string{"/api/v1/namespaces/edge/services": "spec.type=LoadBalancer",
		"/apis/discovery.k8s.io/v1/namespaces/edge/endpointslices": "endpointslice.kubernetes.io/managed-by=" +
			validation.DefaultPrefix,
		"/api/v1/namespaces/lb/configmaps": "metadata.name=svc-lb-mux-pool-p"} {
		if s.api.asked[path] != selector {
			t.Errorf("%s was asked for %q, want %q", path, s.api.asked[path], selector)
		}
	}
	s.api.mu.Unlock()
	s.checkProbes(t)
	end(syscall.SIGTERM)
	_ = s.listener.Close() // no API server from here on
	if _, _, err := s.client.Ask(netip.MustParseAddr("10.9.1.100"), 80); err != nil {
		t.Errorf("the only gateway's end closed the mux: %v", err)
	}
	end = s.start(t, "--goodbye")
	s.awaitAnswer(t)
	time.Sleep(3 * time.Second) // longer than a start waits for news
	s.awaitAnswer(t)
	end(syscall.SIGTERM)
	if after := s.gateway.Run("sh", "-c", "nft list ruleset; ip -o address show dev front"); after != before {
		t.Errorf("before:\n%s\nafter the goodbye:\n%s", before, after)
	}
	if left, err := os.ReadDir(s.state); err == nil && len(left) > 0 {
		t.Errorf("after the goodbye, the disk has %v", left)
	}
}

// ask returns the status and the text of a path on the gateway's port for probes.
func (s *site) ask(port, path string) (status int, text string, err error) {
	err = s.gateway.Inside(func() error {
		conn, err := net.Dial("tcp", "127.0.0.1:"+port)
		if err != nil {
			return err
		}
		defer conn.Close()
		client := &http.Client{Transport: &http.Transport{
			DialContext: func(context.Context, string, string) (net.Conn, error) { return conn, nil }}}
		answer, err := client.Get("http://gateway/" + path)
		if err != nil {
			return err
		}
		defer answer.Body.Close()
		all, err := io.ReadAll(answer.Body)
		status, text = answer.StatusCode, string(all)
		return err
	})
	return status, text, err
}

// Two releases on one machine would write the same tables, addresses and state.
func TestSecondAgentOfAMachineWaitsAndSaysForWhich(t *testing.T) {
	s := newSite(t)
	endFirst := s.start(t)
	s.awaitAnswer(t)
	before := s.gateway.Run("sh", "-c", "nft --stateless list ruleset; ip -o address show dev front")
	second := func() func(syscall.Signal) {
		return s.start(t, "--name=b", "--state-dir="+t.TempDir(), "--probe-address=127.0.0.1:8083", "--goodbye")
	}
	await := func(status int, words string) {
		t.Helper()
		var is int
		var text string
		var err error
		for range 100 {
			if is, text, err = s.ask("8083", "readyz"); err == nil && is == status && strings.Contains(text, words) {
				return
			}
			time.Sleep(50 * time.Millisecond)
		}
		t.Fatalf("the second agent says %d %q, %v: want %d %q", is, text, err, status, words)
	}
	endSecond := second()
	await(http.StatusServiceUnavailable, "gateway a of pool p, namespace lb, process ")
	if status, text, err := s.ask("8083", "healthz"); err != nil || status != http.StatusOK {
		t.Errorf("an agent that waits isn't healthy: %d %q, %v", status, text, err)
	}
	endSecond(syscall.SIGTERM) // it must not say goodbye for the other agent
	if after := s.gateway.Run("sh", "-c", "nft --stateless list ruleset; ip -o address show dev front"); after != before {
		t.Errorf("before:\n%s\nafter the second agent:\n%s", before, after)
	}
	second()
	await(http.StatusServiceUnavailable, "gateway a of pool p")
	endFirst(syscall.SIGKILL)
	await(http.StatusOK, "ok")
}

// DHCP may bring an address after the agent's start, or another one later.
func TestLeaseNamesTheAddressThatTheMachineHasNow(t *testing.T) {
	s := newSite(t)
	defer s.start(t)(syscall.SIGTERM)
	language, err := validation.New(validation.DefaultPrefix, "edge")
	if err != nil {
		t.Fatal(err)
	}
	named := func(address string) {
		t.Helper()
		var g lease.Gateway
		for range 200 {
			if g = s.api.registered(language.Keys()); g.Facts != nil &&
				slices.Contains(g.Facts.Addresses, netip.MustParseAddr(address)) {
				return
			}
			time.Sleep(50 * time.Millisecond)
		}
		t.Fatalf("the Lease doesn't name %s: %+v", address, g.Facts)
	}
	named("10.9.1.1")
	s.gateway.Run("ip", "address", "add", "10.9.1.7/24", "dev", "front")
	s.gateway.Run("ip", "address", "del", "10.9.1.1/24", "dev", "front") // 10.9.1.7 may go, too, as it is secondary
	s.gateway.Run("ip", "address", "replace", "10.9.1.7/24", "dev", "front")
	named("10.9.1.7")
}
