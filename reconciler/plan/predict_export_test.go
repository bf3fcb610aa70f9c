package plan

// Foreseen are the verdicts that predictions go by.
func Foreseen(w World) []Verdict {
	p := foresee(&w)
	p.index()
	return p.finish().Verdicts
}
