package ledger

import (
	"strings"
	"testing"
)

// A list of nothing takes three bytes an entry as a text, and two hundred once it is read.
func TestCrowded(t *testing.T) {
	many := maxListed + 2
	for name, test := range map[string]struct {
		text string
		want bool
	}{
		"nothing":                       {"", false},
		"a ledger":                      {`{"portClaims":[{"a":1,"b":2},{"a":1}]}`, false},
		"commas in texts":               {`["` + strings.Repeat(",", many) + `\",\\",` + `""]`, false},
		"fields, however many":          {`{` + strings.Repeat(`"a":1,`, many) + `"b":1}`, false},
		"millions of empty claims":      {`{"portClaims":[` + strings.Repeat("{},", many) + `{}]}`, true},
		"millions of nulls":             {`{"portClaims":[` + strings.Repeat("null,", many) + `null]}`, true},
		"lists in lists":                {strings.Repeat("[", maxDepth+1), true},
		"what ends more than it begins": {"]]]}}},[1]", false},
	} {
		if got := crowded([]byte(test.text)); got != test.want {
			t.Errorf("%s: got %t", name, got)
		}
	}
	if _, err := parse([]byte(`{"portClaims":[` + strings.Repeat("{},", many) + `{}]}`)); err == nil || !strings.Contains(err.Error(), "no mux has") {
		t.Errorf("such a ledger: got %v", err)
	}
}
