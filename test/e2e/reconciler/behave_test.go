package reconciler

import "testing"

// cases are the test cases that share a scene.
type cases struct{ *scene }

// TestBehaviour checks what users see, case by case, of one reconciler that serves all of them at once.
func TestBehaviour(t *testing.T) {
	t.Parallel()
	s := cases{newScene(t)}
	// These run alone, because they count all requests.
	t.Run("a mux without room for annotations gets ports without notes", s.hugeAnnotations)
	t.Run("a reconciler at rest sends no requests", s.silence)
	for _, test := range []struct {
		name string
		run  func(cases, *testing.T)
	}{
		{"a channel that attaches gets ports, backends and the mux's address", cases.attach},
		{"a channel that detaches is clean, and so is its mux", cases.detach},
		{"a deleted channel's ports are removed", cases.deletion},
		{"a channel that is recreated within the grace gets its port again", cases.grace},
		{"a renamed port keeps its number", cases.rename},
		{"a channel that asks for another number gets it", cases.moves},
		{"a channel that is recreated with another class moves to that mux", cases.otherMux},
		{"a recreated mux gets its ports again", cases.muxReturns},
		{"channels keep their numbers if a sync recreates the mux before them", cases.syncedAgain},
		{"a former mux keeps its ports and loses its channels", cases.noMuxAnyMore},
		{"a mux that gains a selector freezes", cases.selectorGained},
		{"a mux with an unnamed port waits for a name", cases.unnamedPort},
		{"a channel that is disabled is withdrawn and holds its number", cases.disabledChannel},
		{"a mux that is disabled is paused", cases.disabledMux},
		{"channels of a disallowed namespace lose their ports", cases.shutOut},
		{"a conflict ends when its holder leaves", cases.conflict},
		{"an exhausted range refuses channels until one is deleted", cases.exhausted},
		{"a number held as auto can't be requested by another channel", cases.heldByAuto},
		{"at the limit a newcomer that sorts first is refused", cases.sortsFirst},
		{"a limit below the ports in use removes none", cases.lowered},
		{"channels keep their numbers when the range moves", cases.rangeMoved},
		{"a burst of 100 channels takes few writes and the 101st has no room on GKE", cases.burst},
		{"a UDP channel waits for a mux that can't mix", cases.cannotMix},
		{"SCTP is carried", cases.sctp},
		{"a port under two protocols has one number", cases.paired},
		{"exhausted node ports refuse only channels that don't fit", cases.nodePorts},
		{"two channels with one short port name get their own backends", cases.sameShortName},
		{"a forged ports annotation gives no port", cases.forged},
		{"channels of a missing mux don't affect others", cases.missingMux},
		{"a channel that changes all the time doesn't block others", cases.restless},
		{"foreign fields aren't changed", cases.foreign},
		{"a broken ledger freezes its mux until it is repaired", cases.brokenLedger},
		{"a broken ledger may be deleted", cases.brokenThenDeleted},
		{"a lost or emptied ledger is rebuilt", cases.lostLedger},
		{"a ledger of a newer version freezes its mux", cases.futureLedger},
		{"a ledger from an old backup freezes its mux", cases.restoredLedger},
		{"a ledger serves only one mux", cases.sharedLedger},
		{"claims move when the ledger's name changes", cases.movedLedger},
		{"a foreign ConfigMap isn't used as a ledger", cases.strangersConfigMap},
		{"IPv6 and dual-stack are carried", cases.twoFamilies},
		{"a refused ledger is reported, and retried", cases.refusedLedger},
		{"a refused mux is reported, and retried", cases.refusedMux},
		{"a refused DNS name doesn't block ports", cases.refusedNames},
		{"refused ports don't affect other channels", cases.refusedPorts},
		{"a channel with a refused status doesn't block others", cases.refusedStatus},
		{"backends that a quota refuses are reported, and carried once it is lifted", cases.refusedByQuota},
		{"slices written by hand are carried", cases.handWritten},
		{"terminating pods are carried as terminating", cases.terminating},
		{"a pod's readiness costs one write of a slice", cases.pods},
		{"1,200 endpoints are carried", cases.twelveHundred},
		{"mirrored Endpoints are carried", cases.mirrored},
		{"DNS names of channels are added to the mux", cases.hostnames},
		{"a DNS name stays with the namespace that had it first", cases.hostnameTaken},
		{"a new channel with a disallowed name gets no address", cases.directNames},
		{"a declared placeholder stays", cases.declared},
		{"drift is corrected", cases.drift},
		{"repeated drift slows corrections down and causes one Event", cases.repeatedDrift},
		{"repeated drift of a channel slows corrections down and causes one Event", cases.repeatedChannelDrift},
		{"numbers in the explicit range can be requested", cases.explicitRange},
		{"a mistake is reported and corrected, and doesn't affect others", cases.mistaken},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			test.run(s, t)
		})
	}
}
