package plan

// Foreseen are the verdicts that predictions go by.
func Foreseen(w World) []Verdict {
	p := foresee(&w)
	p.showAll()
	return p.plan.Verdicts
}
