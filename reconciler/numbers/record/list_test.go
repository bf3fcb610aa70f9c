package record

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestAListIsReadUpToItsBound: an entry of three bytes takes 170 in memory, so a forged text could fill the memory.
func TestAListIsReadUpToItsBound(t *testing.T) {
	for name, test := range map[string]struct {
		text string
		want int    // entries that are read
		err  string // part of the error
	}{
		"a claim":       {`{"portClaims":[{"port":1},{"port":2}]}`, 2, ""},
		"no list":       {`{"portClaims":null}`, 0, ""},
		"an empty list": {`{"portClaims":[]}`, 0, ""},
		"at the bound":  {`{"portClaims":[` + strings.Repeat("{},", maxListed-1) + `{}]}`, maxListed, ""},
		"past the bound": {`{"portClaims":[` + strings.Repeat("{},", maxListed) + `{}]}`, maxListed,
			"more than 65536 things"},
		"nulls": {`{"portClaims":[` + strings.Repeat("null,", maxListed) + `null]}`, maxListed, "more than 65536 " +
			"things"},
		"an object":       {`{"portClaims":{}}`, 0, "portClaims can't be a JSON object"},
		"a text":          {`{"portClaims":"x"}`, 0, "portClaims can't be a JSON string"},
		"a number in it":  {`{"portClaims":[{},7]}`, 1, "portClaims can't be a JSON number"},
		"a text as port":  {`{"portClaims":[{"port":"x"}]}`, 0, "portClaims.port can't be a JSON string"},
		"holders, too":    {`{"hostnames":[` + strings.Repeat("{},", maxListed) + `{}]}`, 0, "more than 65536 things"},
		"a list that has": {`{"portClaims":[{}`, 0, "it isn't JSON"},
	} {
		t.Run(name, func(t *testing.T) {
			doc, err := parse([]byte(test.text))
			if got := len(doc.PortClaims); got != test.want {
				t.Errorf("%d entries, not %d", got, test.want)
			}
			if (err == nil) != (test.err == "") || err != nil && !strings.Contains(err.Error(), test.err) {
				t.Errorf("the error is %v", err)
			}
		})
	}
}

func TestAListThatIsGivenTwiceIsTheLastOne(t *testing.T) {
	doc, err := parse([]byte(`{"portClaims":[{"port":1,"namespace":"a"},{"port":3}],"portClaims":[{"port":2}]}`))
	if diff := cmp.Diff(list[entry]{{Port: 2}}, doc.PortClaims); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
}
