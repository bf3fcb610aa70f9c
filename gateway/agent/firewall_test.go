package agent_test

import (
	"os/exec"
	"strings"
	"testing"
	"time"

	"nowake.ai/svc-lb-mux/gateway/agent"
	"nowake.ai/svc-lb-mux/test/nettest"
)

// Docker sets the policy of iptables' FORWARD chain to drop. The mux is programmed and held then, but no packet reaches a backend.
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
		if _, rest, found := strings.Cut(f.Message, `run "`); found && f.Reason == agent.ForwardingBlocked {
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
	const forward = "type filter hook forward priority 0;"
	for name, test := range map[string]struct{ rules, blocked string }{
		"nothing":                      {"", ""},
		"a policy that accepts":        {"table inet f { chain c { " + forward + " policy accept; }; }", ""},
		"a policy that drops":          {"table inet f { chain c { " + forward + " policy drop; }; }", "nft insert rule inet f c ct status dnat accept"},
		"of another hook":              {"table inet f { chain c { type filter hook input priority 0; policy drop; }; }", ""},
		"with the exception":           {"table inet f { chain c { " + forward + " policy drop; ct status dnat counter accept; }; }", ""},
		"for something else":           {"table inet f { chain c { " + forward + " policy drop; ct status snat accept; ct state established accept; }; }", "inet f c"},
		"for an interface only":        {"table inet f { chain c { " + forward + " policy drop; iifname lo ct status dnat accept; }; }", "inet f c"},
		"in a chain that is jumped to": {"table ip f { chain d { ct status dnat accept; }; chain c { " + forward + " policy drop; counter jump d; }; }", ""},
		"in a chain of nobody":         {"table ip f { chain d { ct status dnat accept; }; chain c { " + forward + " policy drop; }; }", "ip f c"},
		"as firewalld has it":          {"table inet firewalld { chain c { " + forward + " ct state established,related accept; ct status dnat accept; iifname lo accept; reject with icmpx admin-prohibited; }; }", ""},
		"a last rule that rejects":     {"table inet f { chain c { " + forward + " ct state established,related accept; reject with icmpx admin-prohibited; }; }", "inet f c"},
		"jumps that come back":         {"table ip f { chain d { counter; }; chain c { " + forward + " policy drop; jump d; goto d; }; }", "ip f c"},
	} {
		t.Run(name, func(t *testing.T) {
			n := nettest.New(t)
			if test.rules != "" {
				n.Run("nft", test.rules)
			}
			m := agent.Machine{Proc: proc(t, nil), Interface: "eth0.7", ReturnPath: "node", Addresses: muxAddresses,
				Blocked: func() ([]agent.BlockedChain, error) { return agent.BlockedChains(n.FD) }}
			faults := m.Check()
			if test.blocked == "" && len(faults) == 0 {
				return
			}
			if len(faults) != 1 || faults[0].Reason != agent.ForwardingBlocked || test.blocked == "" || !strings.Contains(faults[0].Message, test.blocked) ||
				len(faults[0].Message) > 300 {
				t.Errorf("got %+v, want %q", faults, test.blocked)
			}
		})
	}
}
