package validation

import (
	"iter"
	"strconv"
	"strings"
)

// isSpace is RE2's \s, so that a CEL expression can trim just the same.
func isSpace(c byte) bool {
	return c == ' ' || c == '\t' || c == '\n' || c == '\f' || c == '\r'
}

func trim(s string) string {
	for s != "" && isSpace(s[0]) {
		s = s[1:]
	}
	for s != "" && isSpace(s[len(s)-1]) {
		s = s[:len(s)-1]
	}
	return s
}

// entries yields the trimmed entries of a comma-separated list, without the empty ones.
func entries(list string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for entry := range strings.SplitSeq(list, ",") {
			if entry = trim(entry); entry != "" && !yield(entry) {
				return
			}
		}
	}
}

// cut splits an entry at the first separator and trims both sides.
func cut(entry, separator string) (before, after string, found bool) {
	before, after, found = strings.Cut(entry, separator)
	return trim(before), trim(after), found
}

// number reads plain decimal digits without a leading zero, from low to high; anything else is 0, lest it be gone by.
func number(s string, low, high int64) (int64, bool) {
	if len(s) == 0 || digits(s) != len(s) || (s[0] == '0' && len(s) > 1) {
		return 0, false
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < low || n > high {
		return 0, false
	}
	return n, true
}

func portNumber(s string) (int32, bool) {
	n, ok := number(s, MinPort, MaxPort)
	return int32(n), ok //nolint:gosec // number keeps it within 65535
}

// isLabel is true for a DNS-1123 label: what a Service, a namespace and a port may be called. Kubernetes 1.36 lets
// the name of a Service begin with a digit; before that it doesn't, and such a mux is simply never found.
func isLabel(s string) bool {
	if s == "" || len(s) > maxLabel || s[0] == '-' || s[len(s)-1] == '-' {
		return false
	}
	for i := range len(s) {
		if !isLabelByte(s[i]) {
			return false
		}
	}
	return true
}

func isLabelByte(c byte) bool {
	return 'a' <= c && c <= 'z' || '0' <= c && c <= '9' || c == '-'
}

// isDNSName is true for a DNS-1123 subdomain: labels between dots.
func isDNSName(s string) bool {
	if len(s) > maxDNSName {
		return false
	}
	for label := range strings.SplitSeq(s, ".") {
		// A subdomain's labels may be longer than DNS allows in Kubernetes, so not isLabel.
		if label == "" || label[0] == '-' || label[len(label)-1] == '-' {
			return false
		}
		for i := range len(label) {
			if !isLabelByte(label[i]) {
				return false
			}
		}
	}
	return true
}

// lower changes ASCII letters alone: strings.ToLower makes a plain k of the Kelvin sign, and of a name that is
// refused one that is somebody else's.
func lower(s string) string {
	for i := range len(s) {
		if 'A' <= s[i] && s[i] <= 'Z' {
			return lowered(s)
		}
	}
	return s
}

func lowered(s string) string {
	bytes := []byte(s)
	for i, c := range bytes {
		if 'A' <= c && c <= 'Z' {
			bytes[i] = c + 'a' - 'A'
		}
	}
	return string(bytes)
}

// glob returns true if the text matches the pattern, in which a star stands for any run of bytes, also none. It takes
// the first place where the text between two stars fits: a later place leaves less for the rest. So the cost grows with
// the lengths, not with their product.
func glob(pattern, text string) bool {
	last := strings.LastIndexByte(pattern, '*')
	if last < 0 {
		return pattern == text
	}
	text, ok := strings.CutSuffix(text, pattern[last+1:])
	part, rest, more := strings.Cut(pattern[:last], "*")
	if ok {
		text, ok = strings.CutPrefix(text, part)
	}
	for ok && more {
		part, rest, more = strings.Cut(rest, "*")
		_, text, ok = strings.Cut(text, part)
	}
	return ok
}
