package validation

import (
	corev1 "k8s.io/api/core/v1"
)

// News returns the new problems that the old object didn't have, compared by reason, port name and value.
func News(old, new []Problem) []Problem {
	news, _ := ratchet(old, new)
	return news
}

// Ratchet returns the verdict on a change from its problems before and after.
func Ratchet(old, new []Problem) Verdict {
	denied, tolerated := ratchet(old, new)
	return Verdict{Denied: denied, Tolerated: tolerated}
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

// Check returns the findings of any Service; none for a stranger. Problems with the same text are merged into one, with
// their number.
func (l Language) Check(svc *corev1.Service) Findings {
	found := l.check(svc, l.Classify(svc))
	return Findings{Problems: mergeAlike(found.denials()), Warnings: found.Warnings}
}

// check judges a Service only in the given roles.
func (l Language) check(svc *corev1.Service, roles Kind) Findings {
	var found Findings
	if roles.Mux() {
		_, found = l.ParseMux(svc)
	}
	if roles.Channel() {
		_, more := l.ParseChannel(svc)
		found.Problems = append(found.Problems, unreported(found.Problems, more.Problems)...)
		found.Excesses = append(found.Excesses, more.Excesses...)
		found.Warnings = append(found.Warnings, unreported(found.Warnings, more.Warnings)...)
		found.sort()
	}
	return found
}

// unreported returns the problems in more that reported doesn't have at the same field. So an unnamed port of a Service
// that is both mux and channel is one problem.
func unreported(reported, more []Problem) []Problem {
	if len(reported) == 0 {
		return more
	}
	type place struct {
		identity
		field string
	}
	seen := make(map[place]bool, len(reported))
	for _, p := range reported {
		seen[place{p.identity(), p.Field}] = true
	}
	var rest []Problem
	for _, p := range more {
		if !seen[place{p.identity(), p.Field}] {
			rest = append(rest, p)
		}
	}
	return rest
}

// Verdict is the result of reviewing a change. Problems with the same text are merged into one, with their number.
type Verdict struct {
	Kind Kind
	// Denied are the new problems of this change. Without any, the change may pass.
	Denied []Problem
	// Tolerated are problems that the old object has, too. They don't block a label, a finalizer or a rollback.
	Tolerated []Problem
	Warnings  []Problem
}

// Review judges a change; old is nil for a new Service. Old problems count only in the old Service's own role: a
// Service that wasn't a channel had no problems of a channel.
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
	return Verdict{Kind: kind, Denied: mergeAlike(denied), Tolerated: mergeAlike(tolerated), Warnings: found.Warnings}
}
