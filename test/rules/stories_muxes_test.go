package rules

import "time"

func storiesOfMuxes() map[string]story {
	frozen := func(reason, values string) string {
		return `svc_lb_mux_freeze_info{job="svc-lb-mux",mux_namespace="infra",mux="lb",reason="` + reason + `"} ` + values
	}
	channels := func(verdict, reason, values string) string {
		return `svc_lb_mux_channels{job="svc-lb-mux",mux_namespace="infra",mux="lb",verdict="` + verdict + `",reason="` +
			reason + `"} ` +
			values
	}
	const broken = `{job="svc-lb-mux", mux="lb", mux_namespace="infra", reason="PortAllocationStoreInvalid"}`
	const conflict = `{job="svc-lb-mux", mux="lb", mux_namespace="infra", reason="MuxPortConflict"}`
	repeated, slices := "svc_lb_mux_repeated_corrections_total"+mux, "svc_lb_mux_backends_repeated_corrections_total"+mux
	refused := "svc_lb_mux_backends_refused_slices" + mux
	return map[string]story{
		"a quota refuses a channel's slice, and is lifted": {
			about: "SvcLbMuxBackendsRefused", length: 40 * time.Minute,
			series: []string{refused + " 0x9 1x10 0x20"},
			want: []string{"12m critical SvcLbMuxBackendsRefused" + ofMux,
				"26m no more critical SvcLbMuxBackendsRefused" + ofMux},
		},
		"a slice is refused once, and taken the next time": {
			about: "SvcLbMuxBackendsRefused", length: 20 * time.Minute,
			series: []string{refused + " 0x9 1 0x10"},
		},
		"a ledger breaks, and is mended": {
			about: "SvcLbMuxFrozen", length: 40 * time.Minute,
			series: []string{frozen("PortAllocationStoreInvalid", "_x9 1x10 stale")},
			want:   []string{"11m critical SvcLbMuxFrozen" + broken, "25m no more critical SvcLbMuxFrozen" + broken},
		},
		"a mux is paused by its owner": {
			about: "SvcLbMuxFrozen", length: 5 * time.Hour,
			series: []string{frozen("MuxPaused", "1x300")},
		},
		"a mux is frozen while its owner edits it, and thaws": {
			about: "SvcLbMuxFrozen", length: 30 * time.Minute,
			series: []string{frozen("InvalidPortRange", "_x5 1 stale")},
		},
		"a mux freezes and thaws, again and again": {
			about: "SvcLbMuxFrozen", length: 40 * time.Minute,
			series: []string{frozen("PortAllocationStoreInvalid", "1x4 stale _x1 1x4 stale _x1 1x4 stale _x20")},
			want:   []string{"2m critical SvcLbMuxFrozen" + broken, "24m no more critical SvcLbMuxFrozen" + broken},
		},
		"the reconciler restarts while a mux is frozen, and the alert stays": {
			about: "SvcLbMuxFrozen", length: 40 * time.Minute,
			series: []string{
				`svc_lb_mux_freeze_info{job="svc-lb-mux",mux_namespace="infra",mux="lb",pod="r",` +
					`reason="PortAllocationStoreInvalid"} 1x9 stale`,
				`svc_lb_mux_freeze_info{job="svc-lb-mux",mux_namespace="infra",mux="lb",pod="r2",` +
					`reason="PortAllocationStoreInvalid"} _x11 1x40`,
			},
			want: []string{"2m critical SvcLbMuxFrozen" + broken},
		},
		"two channels ask for numbers that others hold, and one of them is deleted": {
			about: "SvcLbMuxChannelsRefused", length: 60 * time.Minute,
			series: []string{channels("refused", "MuxPortConflict", "2x20 1x20 stale"),
				channels("accepted", "Accepted", "7x60")},
			want: []string{
				"10m warning SvcLbMuxChannelsRefused" + conflict, "47m no more warning SvcLbMuxChannelsRefused" + conflict,
			},
		},
		"channels are withdrawn by their owners, and others wait for a frozen mux": {
			about: "SvcLbMuxChannelsRefused", length: 60 * time.Minute,
			series: []string{channels("refused", "Disabled", "2x60"), channels("refused", "Waiting", "2x60")},
		},
		"a channel's mux is created a moment after the channel": {
			about: "SvcLbMuxChannelsRefused", length: 30 * time.Minute,
			series: []string{channels("refused", "MuxNotFound", "1x5 stale"), channels("accepted", "Accepted", "_x6 1x20")},
		},
		"an accepted channel keeps a number outside of the range": {
			about: "SvcLbMuxChannelsRefused", length: 30 * time.Minute,
			series: []string{channels("accepted", "OutOfRange", "1x30")},
		},
		// The reconciler corrects the mux once per five minutes after the first ten corrections.
		"another controller changes a mux back for an hour": {
			about: "SvcLbMuxFight", length: 3 * time.Hour,
			series: []string{repeated + " 0x9 1 2 3 4 5x2 6x4 7x4 8x4 9x4 10x4 11x4 12x4 13x4 14x4 15x4 16x4 17x100"},
			want:   []string{"31m warning SvcLbMuxFight" + ofMux, "1h41m no more warning SvcLbMuxFight" + ofMux},
		},
		"another controller keeps changing a slice back": {
			about: "SvcLbMuxFight", length: time.Hour,
			series: []string{slices + " 0+1x60"},
			want:   []string{"22m warning SvcLbMuxFight" + ofMux},
		},
		"a mux is changed back a few times within two minutes": {
			about: "SvcLbMuxFight", length: 2 * time.Hour,
			series: []string{repeated + " 0x9 2 4x120"},
		},
		"the reconciler restarts, and its counters begin at zero": {
			about: "SvcLbMuxFight", length: 2 * time.Hour,
			series: []string{
				repeated + " 40x30 stale",
				"svc_lb_mux_repeated_corrections_total" + after + " _x32 0x100",
			},
		},
	}
}
