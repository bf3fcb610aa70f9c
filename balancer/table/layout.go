package table

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/google/nftables"
)

// chain is a chain with its rules. A base chain has a kind: the kernel runs it at a hook.
type chain struct {
	name     string
	kind     nftables.ChainType
	hook     *nftables.ChainHook
	priority nftables.ChainPriority
	rules    []rule
	// sets are the definitions of all sets, in one chain of a family: the marks of its rules change with them.
	sets []set
}

// Translations run in the order of their priorities within the kernel's own step at -100 (prerouting and output) and
// 100 (postrouting). So ours come before kube-proxy's, and the guard after all of them.
const (
	beforeOthers = -110
	sourceBefore = 90
	afterAll     = -95
	afterGuard   = -94
)

const (
	chainDispatch = "dispatch"
	chainRequests = "requests"
	chainGuard    = "guard"
	chainTraffic  = "traffic"
)

// baseChains returns the chains that a family always has.
func (f family) baseChains() []chain {
	toDispatch := []rule{f.rule(f.destinedToUs(), continueAt(chainDispatch))}
	toGuard := []rule{f.rule(continueAt(chainGuard))}
	toTraffic := []rule{f.firstSentToUs(continueAt(chainTraffic))}
	base := func(name string, kind nftables.ChainType, hook *nftables.ChainHook, priority nftables.ChainPriority,
		rules []rule) chain {
		return chain{name: name, kind: kind, hook: hook, priority: priority, rules: rules}
	}
	return []chain{
		{name: chainDispatch, rules: f.dispatch(), sets: f.sets()},
		{name: chainRequests, rules: f.requests()},
		{name: chainGuard, rules: f.guard()},
		{name: chainTraffic, rules: f.traffic()},
		base("prerouting", nftables.ChainTypeNAT, nftables.ChainHookPrerouting, beforeOthers, toDispatch),
		base("output", nftables.ChainTypeNAT, nftables.ChainHookOutput, beforeOthers, toDispatch),
		base("postrouting", nftables.ChainTypeNAT, nftables.ChainHookPostrouting, sourceBefore, f.translateSource()),
		base("prerouting-guard", nftables.ChainTypeFilter, nftables.ChainHookPrerouting, afterAll, toGuard),
		base("output-guard", nftables.ChainTypeFilter, nftables.ChainHookOutput, afterAll, toGuard),
		base("prerouting-traffic", nftables.ChainTypeFilter, nftables.ChainHookPrerouting, afterGuard, toTraffic),
		base("output-traffic", nftables.ChainTypeFilter, nftables.ChainHookOutput, afterGuard, toTraffic),
	}
}

// compareChoices sorts a chain behind those that its rules name.
func compareChoices(a, b choice) int {
	switch {
	case a.filtered == b.filtered && a.chain() < b.chain(), !a.filtered && b.filtered:
		return -1
	}
	return 1
}

// marks are short hashes of a chain's rules. Each rule carries its own as a comment, so that a chain can be compared
// after a restart: the kernel gives no rule back exactly as it was written.
func (c *chain) marks() []string {
	marks := make([]string, len(c.rules))
	for i, r := range c.rules {
		sum := sha256.Sum256(fmt.Appendf(nil, "%s %d %v %v %x", c.kind, c.priority, c.sets, i, r))
		marks[i] = hex.EncodeToString(sum[:])[:12]
	}
	return marks
}
