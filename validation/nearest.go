package validation

// Nearest returns the known name that s was most likely meant to be, or "" if none is close: one slip for a short
// name, two for a longer one. Among very many, it isn't looked for: that takes as many comparisons for each mistake.
func Nearest(s string, known []string) string {
	if len(s) > maxLabel || len(known) > maxMeant {
		return ""
	}
	best, least := "", far
	for _, name := range known {
		allowed := 1
		if len(name) > 3 {
			allowed = 2
		}
		if d := slips(s, name); d <= allowed && d < least {
			best, least = name, d
		}
	}
	return best
}

// far is how many slips are all the same to us, as more are.
const far = 3

// slips counts the letters to add, drop, change or swap with a neighbour to get from a to b; at most far.
func slips(a, b string) int {
	if len(a)-len(b) >= far || len(b)-len(a) >= far || len(b) > maxLabel {
		return far
	}
	// Three rows of the table of distances between the beginnings of a and b: this one, and the two above it. Off the
	// diagonal by far or more, all is far: there, only what is beside the others is filled in.
	var rows [3][maxLabel + 2]int
	above, last, row := &rows[0], &rows[1], &rows[2]
	for j := range len(b) + 1 {
		last[j] = j
	}
	for i := range len(a) {
		from, to := max(0, i+1-far), min(len(b), i+far)
		row[from] = min(i+1, far)
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
		if least >= far {
			return far // neighbours differ by one at most, so the row above can't lead to less either
		}
		row[to+1] = far
		above, last, row = last, row, above
	}
	return min(last[len(b)], far)
}
