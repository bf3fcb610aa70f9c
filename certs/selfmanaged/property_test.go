package selfmanaged

import (
	"maps"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestServedLeavesAreTrusted plays histories of passing time, crashes between any two writes, and mishaps.
func TestServedLeavesAreTrusted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := newSim(t)
		s.rest()
		s.after(time.Minute)
		hurt := false // the bundle was changed, or the keeper was away for too long, and trust isn't restored everywhere yet
		rested := s.now
		rest := func() { s.rest(); rested = s.now }
		pass := func(span time.Duration) {
			s.after(span)
			hurt = hurt || s.now.Sub(rested) > 6*time.Hour
		}
		t.Repeat(map[string]func(*rapid.T){
			"time passes": func(t *rapid.T) {
				span := rapid.SampledFrom([]time.Duration{time.Second, 15 * time.Second, 5 * time.Minute, 20 * time.Minute,
					6 * time.Hour})
				pass(span.Draw(t, "span"))
			},
			"days pass": func(t *rapid.T) {
				for range rapid.IntRange(1, 12).Draw(t, "times six hours") {
					rest()
					pass(6 * time.Hour)
				}
			},
			"the keeper is away for days": func(t *rapid.T) {
				s.after(time.Duration(rapid.IntRange(0, 8*24*60).Draw(t, "minutes")) * time.Minute)
				hurt = true
			},
			"a write is made": func(*rapid.T) { s.pass() },
			"a crash":         func(*rapid.T) { s.crash() },
			"the keeper comes to rest": func(*rapid.T) {
				rest()
				if hurt {
					s.after(2 * s.policy.Settle)
					s.finish()
					s.after(2 * mountLag)
					hurt, rested = false, s.now
				}
			},
			"the Secret is deleted": func(*rapid.T) {
				if s.atRest() {
					s.secret = nil
				}
			},
			"a part of the Secret is broken": func(t *rapid.T) {
				if s.atRest() {
					s.breakPart(t)
				}
			},
			"the bundle is emptied or replaced": func(t *rapid.T) {
				if s.atRest() {
					foreign := []byte("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n")
					choice := rapid.SampledFrom([][]byte{nil, foreign, []byte("no certificate")})
					s.setBundles(choice.Draw(t, "first"), choice.Draw(t, "second"))
					hurt = true
				}
			},
			"the configuration is recreated": func(*rapid.T) { s.owned = false },
			"": func(*rapid.T) {
				if !hurt {
					s.check()
				}
			},
		})
		s.rest()
		s.after(2*s.policy.Overlap + s.policy.Trusted)
		s.rest()
		s.finish()
		s.after(2 * mountLag)
		s.check()
		if s.authorities() != 1 {
			t.Fatalf("%d authorities are trusted in the end", s.authorities())
		}
	})
}

func (s *sim) atRest() bool {
	return s.secret != nil && s.world().usable() && Decide(s.world()).Step == Wait && len(s.trusted) == 2
}

func (s *sim) breakPart(t *rapid.T) {
	data := maps.Clone(s.secret)
	key := rapid.SampledFrom(slices.Sorted(maps.Keys(data))).Draw(t, "key")
	switch rapid.SampledFrom([]string{"gone", "empty", "half", "other"}).Draw(t, "how") {
	case "gone":
		delete(data, key)
	case "empty":
		data[key] = nil
	case "half":
		data[key] = data[key][:len(data[key])/2]
	case "other":
		data[key] = []byte("-----BEGIN NONSENSE-----\n-----END NONSENSE-----\n")
	}
	s.setSecret(data)
}
