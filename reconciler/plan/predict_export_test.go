package plan

// Foreseen are the verdicts that predictions go by.
func Foreseen(w World) []Verdict {
	p := foresee(&w)
	if len(p.plan.Verdicts) == 0 {
		p.tell()
	}
	return p.plan.Verdicts
}
