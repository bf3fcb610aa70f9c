package plan_test

import "flag"

// updating is the flag -update. Another test file may have declared it already.
var updating = func() *flag.Flag {
	if flag.Lookup("update") == nil {
		flag.Bool("update", false, "rewrite golden files")
	}
	return flag.Lookup("update")
}()
