package lease

import "time"

// Write writes at most this much, and Read ignores parts that are larger. Annotations of an object may have 256 KiB
// together.
const (
	factsLimit  = 16 << 10
	reportLimit = 200 << 10
	// trafficLimit is more than maxTraffic ports take.
	trafficLimit = 24 << 10

	maxText      = 253 // of a name
	maxMessage   = 300
	maxAddresses = 16
	maxNetworks  = 256
	maxCapacity  = 1_000_000
	maxRefused   = 8 // of a mux
	maxFaults    = 16
	maxTraffic   = 64
	maxFailing   = 512
	maxDuration  = 24 * time.Hour
)
