package validation

// told returns problems as people are told of them: those that read alike once, with how many more there are. It comes
// last: to the ratchet, two that read alike are two where their values differ.
func told(problems []Problem) []Problem {
	if len(problems) < 2 {
		return problems
	}
	type line struct {
		reason               Reason
		field, port, message string
	}
	at := make(map[line]int, len(problems))
	more := make([]int, 0, len(problems))
	var once []Problem
	for _, p := range problems {
		said := line{p.Reason, p.Field, p.Port, p.Message}
		if i, before := at[said]; before {
			more[i]++
			continue
		}
		at[said] = len(once)
		once, more = append(once, p), append(more, 0)
	}
	for i, count := range more {
		if count > 0 {
			once[i].Message = textMore(once[i].Message, count)
		}
	}
	return once
}
