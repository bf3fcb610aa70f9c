package validation

import (
	corev1 "k8s.io/api/core/v1"
)

// News returns those of the new problems that the old object didn't have, compared by reason, port name and value.
func News(old, new []Problem) []Problem {
	news, _ := ratchet(old, new)
	return news
}

func ratchet(old, new []Problem) (news, known []Problem) {
	if len(old) == 0 {
		return new, nil
	}
	had := make(map[identity]bool, len(old))
	for _, p := range old {
		had[p.identity()] = true
	}
	for _, p := range new {
		if had[p.identity()] {
			known = append(known, p)
		} else {
			news = append(news, p)
		}
	}
	return news, known
}

// Check returns what there is to say about a Service, whatever it is; of a stranger, nothing. Problems that read alike
// come once, with their number.
func (l Language) Check(svc *corev1.Service) Findings {
	found := l.check(svc, l.Classify(svc))
	return Findings{Problems: told(found.denials()), Warnings: found.Warnings}
}

// check judges a Service in the given roles, and only those.
func (l Language) check(svc *corev1.Service, roles Kind) Findings {
	var found Findings
	if roles.Mux() {
		_, found = l.ParseMux(svc)
	}
	if roles.Channel() {
		_, more := l.ParseChannel(svc)
		found.Problems = append(found.Problems, unsaid(found.Problems, more.Problems)...)
		found.Excesses = append(found.Excesses, more.Excesses...)
		found.Warnings = append(found.Warnings, unsaid(found.Warnings, more.Warnings)...)
		found.sort()
	}
	return found
}

// unsaid returns those of more that aren't in said, at the same field: a mux that is a channel too is told of an
// unnamed port once.
func unsaid(said, more []Problem) []Problem {
	if len(said) == 0 {
		return more
	}
	type place struct {
		identity
		field string
	}
	seen := make(map[place]bool, len(said))
	for _, p := range said {
		seen[place{p.identity(), p.Field}] = true
	}
	var left []Problem
	for _, p := range more {
		if !seen[place{p.identity(), p.Field}] {
			left = append(left, p)
		}
	}
	return left
}

// Verdict is the answer to a change of a Service. Problems that read alike come once, with their number.
type Verdict struct {
	Kind Kind
	// Denied are the problems that this change brings; the change may pass if there are none.
	Denied []Problem
	// Tolerated are problems that the old object had too. They don't block a label, a finalizer or a rollback.
	Tolerated []Problem
	Warnings  []Problem
}

// Review judges a change; old is nil for a new Service. Old problems count only in the role they were had in: a
// Service that was no channel had no channel's problems, whatever it looked like.
func (l Language) Review(old, new *corev1.Service) Verdict {
	kind := l.Classify(new)
	if kind == Stranger {
		return Verdict{}
	}
	found := l.check(new, kind)
	denied, tolerated := found.denials(), []Problem(nil)
	if old != nil && len(denied) > 0 {
		before := l.check(old, l.Classify(old)&kind)
		denied, tolerated = ratchet(before.denials(), denied)
	}
	return Verdict{Kind: kind, Denied: told(denied), Tolerated: told(tolerated), Warnings: found.Warnings}
}
