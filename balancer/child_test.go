package balancer_test

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"os/signal"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/zap"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	"nowake.ai/svc-lb-mux/balancer"
	"nowake.ai/svc-lb-mux/balancer/announce"
	"nowake.ai/svc-lb-mux/balancer/claims"
	"nowake.ai/svc-lb-mux/balancer/flows"
	"nowake.ai/svc-lb-mux/balancer/keep"
	"nowake.ai/svc-lb-mux/balancer/keepalived"
	"nowake.ai/svc-lb-mux/balancer/lease"
	"nowake.ai/svc-lb-mux/balancer/logs"
	"nowake.ai/svc-lb-mux/balancer/table"
	"nowake.ai/svc-lb-mux/balancer/want"
	"nowake.ai/svc-lb-mux/test/nettest"
	"nowake.ai/svc-lb-mux/validation"
)

// An agent of a test is a process of its own, so that it can be killed. It is the test binary with childSettings in its
// environment. It reads news from standard input and writes its reports to standard output, one JSON object a line.
const childSettings = "GATEWAY_AGENT_OF_A_TEST"

func TestMain(m *testing.M) {
	if text := os.Getenv(childSettings); text != "" {
		runChild(text)
		return
	}
	os.Exit(m.Run())
}

// childConfig are the settings of a child.
type childConfig struct {
	Name       string
	State      string
	Source     []netip.Addr
	ReturnPath want.ReturnPath
	Mode       announce.Mode
	Unicast    bool
	Group      string
	// Checks is true if the agent checks the machine.
	Checks bool
	// Keepalived is the folder of keepalived's files, with its mode.
	Keepalived string
}

// seats returns a child's seats.
func (c *childConfig) seats(known []netip.Addr, log *zap.SugaredLogger) interface {
	balancer.Seats
	Run(ctx context.Context) error
	Addresses() ([]announce.Assigned, error)
} {
	group, taken := cmp.Or(c.Group, "lb/p"), balancer.ResumeFlows(log)
	if c.Mode == keepalived.Mode {
		return keepalived.New(keepalived.Options{Config: c.Keepalived + "/svc-lb-mux.conf", PID: c.Keepalived + "/pid",
			Interface: "front",
			Unicast:   c.Unicast, Group: group, Taken: taken, Log: log})
	}
	return announce.New(announce.Options{Interface: "front", Mode: c.Mode, Unicast: c.Unicast, Group: group, Known: known,
		Taken: taken, Log: log})
}

// newsText is news in JSON.
type newsText struct {
	Claims  corev1.ConfigMap
	Muxes   []*corev1.Service
	Slices  []*discoveryv1.EndpointSlice
	Missing bool // the lists weren't read
}

func (n *newsText) news() balancer.News {
	var news balancer.News
	c, err := claims.Decode(&n.Claims, "p")
	if err == nil {
		news.Claims = &c
		news.ClaimsVersion = lease.Version{UID: n.Claims.UID, ResourceVersion: n.Claims.ResourceVersion}
	} else {
		news.ClaimsFault = err.Error()
	}
	news.Muxes = want.List[*corev1.Service]{Items: n.Muxes, IsRead: !n.Missing}
	news.Slices.IsRead = !n.Missing
	for _, slice := range n.Slices {
		news.Slices.Items = append(news.Slices.Items, want.ReadSlice(slice))
	}
	return news
}

func runChild(text string) {
	var c childConfig
	if err := json.Unmarshal([]byte(text), &c); err != nil {
		panic(err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	language, err := validation.New(validation.DefaultPrefix, "edge")
	if err != nil {
		panic(err)
	}
	board := balancer.NewBoard()
	go func() {
		lines := bufio.NewScanner(os.Stdin)
		lines.Buffer(nil, 64<<20)
		for lines.Scan() {
			var n newsText
			if err := json.Unmarshal(lines.Bytes(), &n); err != nil {
				panic(err)
			}
			board.Post(n.news())
		}
	}()
	log := logs.New(zap.InfoLevel, os.Stderr).Sugar().With("gateway", c.Name)
	before, err := keep.Directory(c.State).Load(c.Name, "p")
	if err != nil {
		log.Warnw("The state of before isn't used", "error", err)
	}
	var known []netip.Addr
	if before != nil {
		for _, a := range before.Wanted.Tables.Addresses {
			known = append(known, a.Address)
		}
	}
	seats := c.seats(known, log)
	out := json.NewEncoder(os.Stdout)
	a := balancer.New(balancer.Config{Name: c.Name, Pool: "p", Keys: language.Keys(), Source: c.Source,
		ReturnPath: c.ReturnPath,
		News:       board, Tables: table.Open(0), Seats: seats, State: keep.Directory(c.State),
		DropFlows: func(gone []flows.Gone) (int, error) { return flows.Drop(0, gone) }, Before: before,
		Addresses: seats.Addresses, Log: log,
		Report: func(r *lease.Report) { _ = out.Encode(r) }})
	if c.Checks {
		machine := &balancer.Machine{Proc: "/proc", Interface: "front", ReturnPath: c.ReturnPath,
			Addresses: func() []netip.Addr {
				return []netip.Addr{netip.MustParseAddr("fd09:1::1")}
			}, Blocked: func() ([]balancer.BlockedChain, error) { return balancer.BlockedChains(0) }}
		a.Check = machine.Check
	}
	var all sync.WaitGroup
	all.Go(func() {
		if err := seats.Run(ctx); err != nil {
			log.Errorw("The announcer failed", "error", err)
		}
	})
	all.Go(func() { _ = a.Run(ctx) })
	all.Wait()
}

// child is a running agent.
type child struct {
	t       testing.TB
	name    string
	command *exec.Cmd
	news    *json.Encoder
	ended   chan struct{}

	mu     sync.Mutex
	report *lease.Report
}

// start starts an agent in a namespace. If under names another program, that program runs the agent.
func start(t testing.TB, in *nettest.Namespace, c childConfig, under ...string) *child {
	t.Helper()
	settings, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	words := append(under, self)
	k := &child{t: t, name: c.Name, command: exec.Command(words[0], words[1:]...), ended: make(chan struct{})}
	k.command.Env = append(os.Environ(), childSettings+"="+string(settings))
	k.command.Stderr = logOf(t)
	input, err := k.command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	output, err := k.command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := in.Inside(k.command.Start); err != nil {
		t.Fatal(err)
	}
	k.news = json.NewEncoder(input)
	go func() {
		defer close(k.ended)
		lines := json.NewDecoder(output)
		for {
			r := &lease.Report{}
			if lines.Decode(r) != nil {
				break
			}
			k.mu.Lock()
			k.report = r
			k.mu.Unlock()
		}
		_ = k.command.Wait()
	}()
	t.Cleanup(func() { k.end(syscall.SIGKILL) })
	return k
}

// end sends a signal and waits for the end.
func (k *child) end(signal syscall.Signal) {
	_ = k.command.Process.Signal(signal)
	<-k.ended
}

func (k *child) post(n *newsText) {
	k.t.Helper()
	if err := k.news.Encode(n); err != nil {
		k.t.Fatal(err)
	}
}

func (k *child) reported() *lease.Report {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.report
}

// logOf writes an agent's log to a file that a failed test prints.
func logOf(t testing.TB) *os.File {
	file, err := os.CreateTemp(t.TempDir(), "log")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if text, err := os.ReadFile(file.Name()); err == nil && t.Failed() {
			t.Logf("log of an agent:\n%s", text)
		}
		file.Close()
	})
	return file
}

// eventually waits until a condition holds, and returns how long that took.
func eventually(t testing.TB, what string, holds func() bool) time.Duration {
	t.Helper()
	const patience = 10 * time.Second
	for begin := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		if holds() {
			return time.Since(begin)
		}
		if time.Since(begin) > patience {
			t.Fatalf("after %s, it isn't true that %s", patience, what)
		}
	}
}

func seatClaims(order ...string) string {
	text, err := json.Marshal(order)
	if err != nil {
		panic(err)
	}
	return fmt.Sprintf(`{"routerID":7,"order":%s}`, text)
}
