package plan

// PredictedVerdicts returns the verdicts that predictions use.
func PredictedVerdicts(w World) []Verdict {
	judged := Judge(w)
	if len(judged.plan.Verdicts) == 0 {
		tell(judged.pass)
	}
	return judged.plan.Verdicts
}
