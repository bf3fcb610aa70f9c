package validation

// Nearest returns the known name that s was most likely meant to be, or "" if none is close: one slip for a short
// name, two for a longer one.
func Nearest(s string, known []string) string {
	if len(s) > maxLabel {
		return ""
	}
	best, least := "", 3
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

// slips counts the letters to add, drop, change or swap with a neighbour to get from a to b; 3 and more are all
// the same to us.
func slips(a, b string) int {
	const far = 3
	if len(a)-len(b) >= far || len(b)-len(a) >= far || len(b) > maxLabel {
		return far
	}
	// Three rows of the table of distances between the beginnings of a and b: this one, and the two above it.
	var rows [3][maxLabel + 1]int
	above, last, row := &rows[0], &rows[1], &rows[2]
	for j := range len(b) + 1 {
		last[j] = j
	}
	for i := range len(a) {
		row[0] = i + 1
		for j := range len(b) {
			change := 1
			if a[i] == b[j] {
				change = 0
			}
			row[j+1] = min(last[j]+change, last[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], above[j-1]+1)
			}
		}
		above, last, row = last, row, above
	}
	return min(last[len(b)], far)
}
