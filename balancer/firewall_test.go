package balancer_test

import (
	"os/exec"
	"strings"
	"testing"
	"time"

	"nowake.ai/svc-lb-mux/balancer"
	"nowake.ai/svc-lb-mux/test/nettest"
)

// Docker sets the policy of iptables' FORWARD chain to drop. The mux is programmed and held then, but no packet reaches
// a backend.
func TestFirewallThatDropsForwardedPacketsIsAFault(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("iptables-nft"); err != nil {
		t.Skip("NOT COVERED without iptables-nft; on Debian: apt-get install iptables, or make deps")
	}
	s := newSegment(t)
	for _, family := range []string{"iptables-nft", "ip6tables-nft"} {
		s.a.Run(family, "--policy", "FORWARD", "DROP")
		s.a.Run(family, "--new-chain", "DOCKER-USER")
		s.a.Run(family, "--append", "FORWARD", "--jump", "DOCKER-USER")
	}
	config := s.config("a")
	config.Checks = true
	a := start(t, s.a, config)
	a.post(news("a"))
	eventually(t, "gateway a holds the seat", func() bool { return holds(s.a) && isProgrammed(a) })
	if s.answersWithin(time.Second) == nil {
		t.Fatal("the mux answers, although forwarded packets are dropped")
	}
	var commands []string
	for _, f := range a.reported().Faults {
		if _, rest, found := strings.Cut(f.Message, `run "`); found && f.Reason == balancer.ForwardingBlocked {
			command, _, _ := strings.Cut(rest, `"`)
			commands = append(commands, command)
		}
	}
	if len(commands) != 2 {
		t.Fatalf("the agent reports %+v", a.reported().Faults)
	}
	for _, command := range commands {
		s.a.Run("sh", "-c", strings.Replace(command, "tables ", "tables-nft ", 1))
	}
	s.awaitAnswers()
	for range 300 { // the agent checks its machine every ten seconds
		if len(a.reported().Faults) == 0 {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Errorf("the fault stays: %+v", a.reported().Faults)
}

func TestChainsThatDropForwardedPacketsAreFound(t *testing.T) {
	const forward, exception = "type filter hook forward priority 0;", "ct status dnat accept;"
	const reject = "reject with icmpx admin-prohibited;"
	of := func(family string, chains ...string) string {
		return "table " + family + " f { chain " + strings.Join(chains, " }; chain ") + " }; }"
	}
	drop := "c { " + forward + " policy drop; "
	for name, test := range map[string]struct{ rules, blocked string }{
		"nothing":                {"", ""},
		"a policy that accepts":  {of("inet", "c { "+forward+" policy accept;"), ""},
		"a policy that drops":    {of("inet", drop), "nft insert rule inet f c ct status dnat accept"},
		"of another hook":        {of("inet", "c { type filter hook input priority 0; policy drop;"), ""},
		"with the exception":     {of("inet", drop+"ct status dnat counter accept;"), ""},
		"for something else":     {of("inet", drop+"ct status snat accept; ct state established accept;"), "inet f c"},
		"for an interface only":  {of("inet", drop+"iifname lo "+exception), "inet f c"},
		"in a chain of its own":  {of("ip", "d { "+exception, drop+"counter jump d;"), ""},
		"in a chain of nobody":   {of("ip", "d { "+exception, drop), "ip f c"},
		"as firewalld has it":    {of("inet", "c { "+forward+" ct state established,related accept; "+exception+reject), ""},
		"a last rule of rejects": {of("inet", "c { "+forward+" ct state established,related accept; "+reject), "inet f c"},
		"jumps that come back":   {of("ip", "d { counter;", drop+"jump d; goto d;"), "ip f c"},
	} {
		t.Run(name, func(t *testing.T) {
			n := nettest.New(t)
			if test.rules != "" {
				n.Run("nft", test.rules)
			}
			m := balancer.Machine{Proc: proc(t, nil), Interface: "eth0.7", ReturnPath: "node", Addresses: muxAddresses,
				Blocked: func() ([]balancer.BlockedChain, error) { return balancer.BlockedChains(n.FD) }}
			faults := m.Check()
			if test.blocked == "" && len(faults) == 0 {
				return
			}
			const room = 300 // in a Lease
			if len(faults) != 1 || test.blocked == "" || faults[0].Reason != balancer.ForwardingBlocked ||
				!strings.Contains(faults[0].Message, test.blocked) || len(faults[0].Message) > room {
				t.Errorf("got %+v, want %q", faults, test.blocked)
			}
		})
	}
}
