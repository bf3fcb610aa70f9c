package plan_test

import "flag"

// updating is the package's -update flag, whichever of its tests declares it.
var updating = func() *flag.Flag {
	if flag.Lookup("update") == nil {
		flag.Bool("update", false, "rewrite golden files")
	}
	return flag.Lookup("update")
}()
