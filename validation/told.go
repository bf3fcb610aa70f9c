package validation

// mergeAlike merges problems with the same text into one, with the number of the others. It runs after the ratchet,
// which tells problems with the same text apart by their values.
func mergeAlike(problems []Problem) []Problem {
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
		alike := line{p.Reason, p.Field, p.Port, p.Message}
		if i, before := at[alike]; before {
			more[i]++
			continue
		}
		at[alike] = len(once)
		once, more = append(once, p), append(more, 0)
	}
	for i, count := range more {
		if count > 0 {
			once[i].Message = textMore(once[i].Message, count)
		}
	}
	return once
}
