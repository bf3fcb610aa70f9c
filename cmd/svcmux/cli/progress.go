package cli

import (
	"fmt"
	"time"
)

// patience is how long work may take before a user is told about it.
const patience = time.Second

// Progress tells on standard error that work is going on, if it takes longer than a second. The caller calls the
// returned function when the work ends.
func (e Env) Progress(what string) (done func()) {
	timer := time.AfterFunc(patience, func() { fmt.Fprintf(e.Err, "%s ...\n", what) })
	return func() { timer.Stop() }
}
