package validate

import (
	"bytes"
	"testing"
)

func TestWorkflowCommandsAreEscaped(t *testing.T) {
	for name, tc := range map[string]struct {
		at      remark
		message string
		want    string
	}{
		"a plain message": {remark{"a.yaml", 3, ""}, "x: y, z", "::error file=a.yaml,line=3,title=T::x: y, z\n"},
		"without a line":  {remark{"a.yaml", 0, ""}, "x", "::error file=a.yaml,title=T::x\n"},
		"standard input":  {remark{stdinName, 3, ""}, "x", "::error title=T::x\n"},
		"a message of several lines": {remark{"a", 1, ""}, "50%\r\n::error::x",
			"::error file=a,line=1,title=T::50%25%0D%0A::error::x\n"},
		"a file name with separators": {
			remark{"a,line=9::b%\n", 1, ""}, "x", "::error file=a%2Cline=9%3A%3Ab%25%0A,line=1,title=T::x\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			var b bytes.Buffer
			command(&b, "error", tc.at, "T", tc.message)
			if b.String() != tc.want {
				t.Errorf("got %q, want %q", b.String(), tc.want)
			}
		})
	}
}

func TestAnnotationIsNamedOnce(t *testing.T) {
	for name, tc := range map[string]struct{ field, message, want string }{
		"an annotation": {"metadata.annotations[x.io/max-ports]", `max-ports: "0" is no number`,
			`metadata.annotations[x.io/max-ports]: "0" is no number`},
		"a message with the field": {"metadata.annotations[x.io/multiplexer]", "metadata.annotations[x.io/multiplexer]: " +
			"true is not text", "metadata.annotations[x.io/multiplexer]: true is not text"},
		"a message without a name": {"spec.type", "a channel is a LoadBalancer", "spec.type: a channel is a LoadBalancer"},
		"another annotation's name": {"metadata.annotations[x.io/max-ports]", "ports: none",
			"metadata.annotations[x.io/max-ports]: ports: none"},
		"a message without a field": {"", "ports: none", "ports: none"},
	} {
		if got := withField(finding{Field: tc.field, Message: tc.message}); got != tc.want {
			t.Errorf("%s: got %q, want %q", name, got, tc.want)
		}
	}
}
