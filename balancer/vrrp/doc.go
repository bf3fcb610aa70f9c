// Package vrrp is the virtual router protocol, version 3 (RFC 9568): the codec of adverts, and the state machine of one
// virtual router.
//
//	        Start                 three adverts missed
//	Stopped ─────▶ Backup ──────────────────────────────▶ Active
//	   ▲             ▲                                       │
//	   │ Stop        └───────── a better router's advert ────┘
//	   └──── from both
//
// The package is pure and total: the caller passes the time in, opens the sockets, and carries out the actions.
// Preemption is always on: the preferred gateway takes its seat back. No gateway owns an address, so no priority is
// 255.
package vrrp
