package plan

// PredictedVerdicts returns the verdicts that predictions use.
func PredictedVerdicts(w World) []Verdict {
	p := judgeAll(&w)
	if len(p.plan.Verdicts) == 0 {
		p.tell()
	}
	return p.plan.Verdicts
}
