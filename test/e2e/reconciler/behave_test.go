package reconciler

import "testing"

// cases are what is tried of a scene, one by one.
type cases struct{ *scene }

// TestBehaviour is what users see, case by case, of one reconciler that looks after all of them at once.
func TestBehaviour(t *testing.T) {
	t.Parallel()
	s := cases{newScene(t)}
	// Alone, since everything counts.
	t.Run("annotations without room get ports without notes", s.hugeAnnotations)
	t.Run("when all is settled it is silent", s.silence)
	for _, test := range []struct {
		name string
		run  func(cases, *testing.T)
	}{
		{"a channel that attaches gets ports, backends and the mux's address", cases.attach},
		{"a channel that detaches is clean, and so is its mux", cases.detach},
		{"a channel that is deleted takes its ports along", cases.deletion},
		{"a channel that is made anew within the grace has its port again", cases.grace},
		{"a port that is renamed stays where it is", cases.rename},
		{"a channel that asks for another number gets it", cases.moves},
		{"a channel that is made anew under another class moves", cases.otherMux},
		{"a mux that is deleted and made again has the ports it had", cases.muxReturns},
		{"a mux that is synced again before its channels keeps their numbers", cases.syncedAgain},
		{"a mux that stops being one keeps its ports and loses its channels", cases.noMuxAnyMore},
		{"a mux that gains a selector freezes", cases.selectorGained},
		{"a mux with an unnamed port waits for a name", cases.unnamedPort},
		{"a channel that is disabled is withdrawn and holds its number", cases.disabledChannel},
		{"a mux that is disabled is paused", cases.disabledMux},
		{"a namespace that may attach no longer is shut out", cases.shutOut},
		{"a conflict ends when its holder leaves", cases.conflict},
		{"an exhausted range refuses until somebody leaves", cases.exhausted},
		{"a number held as auto is nobody else's to ask for", cases.heldByAuto},
		{"at the limit a newcomer that sorts first is refused", cases.sortsFirst},
		{"a limit below what is in use takes nothing away", cases.lowered},
		{"a range that moved leaves what was given", cases.rangeMoved},
		{"a burst of 100 channels takes few writes and the 101st has no room on GKE", cases.burst},
		{"a UDP channel waits for a mux that can't mix", cases.cannotMix},
		{"SCTP is carried", cases.sctp},
		{"a port under two protocols has one number", cases.paired},
		{"node ports that run out refuse who doesn't fit", cases.nodePorts},
		{"a name of 7 digits that fits two channels misleads nobody", cases.sameShortName},
		{"a forged ports annotation gets nobody a port", cases.forged},
		{"channels of a missing mux disturb nobody", cases.missingMux},
		{"a channel that changes all the time keeps nobody waiting", cases.restless},
		{"what isn't ours isn't touched", cases.foreign},
		{"a ledger that can't be read freezes its mux until it is mended", cases.brokenLedger},
		{"a ledger that can't be read may be deleted", cases.brokenThenDeleted},
		{"a ledger that is lost or emptied is rebuilt", cases.lostLedger},
		{"a ledger from the future freezes", cases.futureLedger},
		{"a ledger from an old backup freezes", cases.restoredLedger},
		{"a ledger serves one mux", cases.sharedLedger},
		{"a ledger moves with its name", cases.movedLedger},
		{"a ConfigMap that isn't ours is no ledger", cases.strangersConfigMap},
		{"IPv6 and dual-stack are carried", cases.twoFamilies},
		{"a ledger that the API server refuses is told, and tried again", cases.refusedLedger},
		{"a mux that the API server refuses is told, and tried again", cases.refusedMux},
		{"a DNS name that the API server refuses holds no ports up", cases.refusedNames},
		{"ports that the API server refuses harm nobody else", cases.refusedPorts},
		{"a channel that can't be told anything holds nobody up", cases.refusedStatus},
		{"backends that a quota refuses are told, and come once it is lifted", cases.refusedByQuota},
		{"slices written by hand are carried", cases.handWritten},
		{"terminating pods are carried as such", cases.terminating},
		{"a pod's readiness costs one write of a slice", cases.pods},
		{"1,200 endpoints are carried", cases.twelveHundred},
		{"mirrored Endpoints are carried", cases.mirrored},
		{"DNS names are gathered on the mux", cases.hostnames},
		{"a DNS name stays with the namespace that had it first", cases.hostnameTaken},
		{"a new channel gives external-dns no name that the mux doesn't allow", cases.directNames},
		{"the placeholder stays where it is declared", cases.declared},
		{"what somebody changes is put right", cases.drift},
		{"a quarrel slows down and is told once", cases.quarrel},
		{"a quarrel over a channel slows down and is told once", cases.channelQuarrel},
		{"numbers may be asked for in the explicit range", cases.explicitRange},
		{"a mistake is told and mended, and harms nobody", cases.mistaken},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			test.run(s, t)
		})
	}
}
