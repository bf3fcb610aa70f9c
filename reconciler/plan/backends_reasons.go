package plan

import "nowake.ai/svc-lb-mux/validation"

// SliceNameTaken is a mux on which backends can't be carried, because the slice's name is somebody else's.
const SliceNameTaken validation.Reason = "SliceNameTaken"
