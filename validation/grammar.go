package validation

import (
	"iter"
	"strconv"
	"strings"
)

// isSpace matches RE2's \s, so that a CEL expression can trim in the same way.
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

// number parses plain decimal digits without a leading zero, from 1 to high. If it returns false, the number is 0, so
// that no caller uses a bad value.
func number(s string, high int64) (int64, bool) {
	if len(s) == 0 || digits(s) != len(s) || (s[0] == '0' && len(s) > 1) {
		return 0, false
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < 1 || n > high {
		return 0, false
	}
	return n, true
}

func portNumber(s string) (int32, bool) {
	n, ok := number(s, MaxPort)
	return int32(n), ok //nolint:gosec // number keeps it within 65535
}

// IsLabel says that s is a DNS-1123 label, the rule for names of Services, namespaces and ports. Since Kubernetes 1.36,
// a Service's name may begin with a digit; on older versions, such a mux can't exist and is never found.
func IsLabel(s string) bool {
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

// isDNSName says that s is a DNS-1123 subdomain: labels between dots.
func isDNSName(s string) bool {
	if len(s) > maxDNSName {
		return false
	}
	for label := range strings.SplitSeq(s, ".") {
		// Kubernetes allows labels of a subdomain to be longer than DNS does, so IsLabel doesn't fit.
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

// lower changes only ASCII letters. strings.ToLower turns the Kelvin sign into a plain k, and so could turn an invalid
// name into another team's name.
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

// glob says that the text matches the pattern, where a star stands for any run of bytes, also an empty one. Each part
// between two stars takes its first match: a later match leaves less text for the rest. So the cost grows with the sum
// of the lengths, not with their product.
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
