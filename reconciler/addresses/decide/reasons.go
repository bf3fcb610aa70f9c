package decide

// The reasons of conditions and Events. Refusals by a pool have the reasons of reconciler/addresses/pool, and mistakes
// in settings those of package validation.
const (
	// Of the condition Addressed.
	Addressed        = "Addressed"        // the mux has addresses
	Moving           = "Moving"           // the mux gets other addresses: the former ones are hidden first
	PoolUnknown      = "PoolUnknown"      // the class names no pool of the configuration
	NotMux           = "NotMultiplexer"   // a Service with a class of gateways that is no mux
	TooManyMuxes     = "TooManyMuxes"     // the namespace has as many muxes as the pool allows
	ClaimsFull       = "ClaimsFull"       // the pool's ConfigMap has no room for another claim
	ClaimsUnreadable = "ClaimsUnreadable" // the pool's ConfigMap can't be read
	ClaimsLost       = "ClaimsLost"       // the pool's ConfigMap is lost, and not yet rebuilt

	// Of the condition Carried.
	Carried        = "Carried"        // a gateway answers for the addresses
	PartlyRefused  = "PartlyRefused"  // gateways refuse some ports or backends
	Refused        = "Refused"        // no gateway carries the mux, and one says why
	NotAddressed   = "NotAddressed"   // there is nothing to carry
	NotProgrammed  = "NotProgrammed"  // no gateway has programmed the addresses yet
	TooFewGateways = "TooFewGateways" // fewer gateways than the mux asks for
	NotHeld        = "SeatNotHeld"    // no gateway holds the seat
	NoGateway      = "NoGateway"      // the pool has no gateway
	StaleGateways  = "GatewaysStale"  // no gateway of the pool renews its Lease

	// Of Events only.
	AddressReclaimed = "AddressReclaimed" // an address is hidden, because another mux has it
	CarriedByAnother = "CarriedByAnother" // the addresses moved to another gateway of the pool

	// Of alarms.
	GatewayStale      = "GatewayStale"      // the Lease wasn't renewed in time
	GatewayUnreadable = "GatewayUnreadable" // a part of the Lease can't be read
	GatewayUnselected = "GatewayUnselected" // the Lease names a pool that doesn't select the gateway
	CapacityLimited   = "CapacityLimited"   // the gateway says that it has more capacity than the pool allows
	AddressInPool     = "AddressInPool"     // the gateway says that an address of the pool is its own
	GatewayFault      = "GatewayFault"      // the agent reports a fault of the machine
	ReportCut         = "ReportCut"         // the report has no room for all muxes
	IntervalWaits     = "IntervalWaits"     // the pool's advert interval changes once this gateway reports that it follows
)
