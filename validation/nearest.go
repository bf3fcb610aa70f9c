package validation

// Nearest returns the known name that s is probably a misspelling of, or "" if none is close: one typo for a short
// name, two for a longer one. With more than maxMeant known names it returns "", since the cost grows with each
// comparison.
func Nearest(s string, known []string) string {
	if len(s) > maxLabel || len(known) > maxMeant {
		return ""
	}
	best, least := "", tooFar
	for _, name := range known {
		allowed := 1
		if len(name) > 3 {
			allowed = 2
		}
		if d := editDistance(s, name); d <= allowed && d < least {
			best, least = name, d
		}
	}
	return best
}

// tooFar is the edit distance from which on the exact value doesn't matter.
const tooFar = 3

// editDistance returns how many letters must be added, dropped, changed, or swapped with a neighbour to get from a to
// b; at most tooFar.
func editDistance(a, b string) int {
	if len(a)-len(b) >= tooFar || len(b)-len(a) >= tooFar || len(b) > maxLabel {
		return tooFar
	}
	// The current row of the table of distances between prefixes of a and b, and the two rows above it. Cells that are
	// tooFar or more off the diagonal hold at least tooFar, so only the cells near it are filled in.
	var rows [3][maxLabel + 2]int
	above, last, row := &rows[0], &rows[1], &rows[2]
	for j := range len(b) + 1 {
		last[j] = j
	}
	for i := range len(a) {
		from, to := max(0, i+1-tooFar), min(len(b), i+tooFar)
		row[from] = min(i+1, tooFar)
		least := row[from]
		for j := from; j < to; j++ {
			change := 1
			if a[i] == b[j] {
				change = 0
			}
			row[j+1] = min(last[j]+change, last[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], above[j-1]+1)
			}
			least = min(least, row[j+1])
		}
		if least >= tooFar {
			return tooFar // neighbouring cells differ by at most one, so no later row can be lower
		}
		row[to+1] = tooFar
		above, last, row = last, row, above
	}
	return min(last[len(b)], tooFar)
}
