package rules

import "time"

// mux holds the labels of most stories' only mux in the first reconciler's series.
const mux = `{job="svc-lb-mux",mux_namespace="infra",mux="lb",pod="r"}`

// after holds the labels of the same mux in the series of the next reconciler.
const after = `{job="svc-lb-mux",mux_namespace="infra",mux="lb",pod="r2"}`

// ofMux holds the labels of an alert about that mux.
const ofMux = `{job="svc-lb-mux", mux="lb", mux_namespace="infra"}`

func storiesOfRanges() map[string]story {
	free, size := "svc_lb_mux_port_range_free"+mux, "svc_lb_mux_port_range_size"+mux
	return map[string]story{
		"a range is used up, and then widened": {
			about: "SvcLbMuxRangeUsedUp", length: 40 * time.Minute,
			series: []string{free + " 50x9 0x9 100x20", size + " 100x19 200x20"},
			want:   []string{"15m critical SvcLbMuxRangeUsedUp" + ofMux, "25m no more critical SvcLbMuxRangeUsedUp" + ofMux},
		},
		"a mux without a range has no free numbers": {
			about: "SvcLbMuxRangeUsedUp", length: 2 * time.Hour,
			series: []string{free + " 0x120", size + " 0x120"},
		},
		"a range is used up only for a moment": {
			about: "SvcLbMuxRangeUsedUp", length: 40 * time.Minute,
			series: []string{free + " 50x9 0x3 50x30", size + " 100x50"},
		},
		"a mux whose range is used up is deleted": {
			about: "SvcLbMuxRangeUsedUp", length: 30 * time.Minute,
			series: []string{free + " 0x9 stale", size + " 100x9 stale"},
			want:   []string{"5m critical SvcLbMuxRangeUsedUp" + ofMux, "15m no more critical SvcLbMuxRangeUsedUp" + ofMux},
		},
		"the reconciler restarts while a range is used up, and the alert stays": {
			about: "SvcLbMuxRangeUsedUp", length: 40 * time.Minute,
			series: []string{
				free + " 0x9 stale", size + " 100x9 stale",
				"svc_lb_mux_port_range_free" + after + " _x11 0x30", "svc_lb_mux_port_range_size" + after + " _x11 100x30",
			},
			want: []string{"5m critical SvcLbMuxRangeUsedUp" + ofMux},
		},
		"an old and a new reconciler are scraped at the same time": {
			about: "SvcLbMuxRangeUsedUp", length: 20 * time.Minute,
			series: []string{
				free + " 0x20", size + " 100x20",
				"svc_lb_mux_port_range_free" + after + " _x5 0x20", "svc_lb_mux_port_range_size" + after + " _x5 100x20",
			},
			want: []string{"5m critical SvcLbMuxRangeUsedUp" + ofMux},
		},
		"a tenth of a range is free": {
			about: "SvcLbMuxRangeNearlyUsedUp", length: 40 * time.Minute,
			series: []string{free + " 10x40", size + " 100x40"},
			want:   []string{"15m warning SvcLbMuxRangeNearlyUsedUp" + ofMux},
		},
		"more than a tenth of a range is free": {
			about: "SvcLbMuxRangeNearlyUsedUp", length: 40 * time.Minute,
			series: []string{free + " 11x40", size + " 100x40"},
		},
		"a range goes back and forth over the limit": {
			about: "SvcLbMuxRangeNearlyUsedUp", length: 2 * time.Hour,
			series: []string{free + " 10x7 11x2 10x7 11x2 10x7 11x2 10x7 11x80", size + " 100x120"},
		},
		"two muxes, one of them nearly used up": {
			about: "SvcLbMuxRangeNearlyUsedUp", length: 20 * time.Minute,
			series: []string{
				free + " 5x20", size + " 100x20",
				`svc_lb_mux_port_range_free{job="svc-lb-mux",mux_namespace="infra",mux="other",pod="r"} 90x20`,
				`svc_lb_mux_port_range_size{job="svc-lb-mux",mux_namespace="infra",mux="other",pod="r"} 100x20`,
			},
			want: []string{"15m warning SvcLbMuxRangeNearlyUsedUp" + ofMux},
		},
		"two releases, each with its own rules": {
			about: "SvcLbMuxRangeNearlyUsedUp", length: 20 * time.Minute,
			of: []string{`namespace="a",job="one"`, `namespace="b",job="one"`},
			series: []string{
				`svc_lb_mux_port_range_free{namespace="a",job="one",mux_namespace="infra",mux="lb"} 5x20`,
				`svc_lb_mux_port_range_size{namespace="a",job="one",mux_namespace="infra",mux="lb"} 100x20`,
				`svc_lb_mux_port_range_free{namespace="b",job="one",mux_namespace="infra",mux="lb"} 90x20`,
				`svc_lb_mux_port_range_size{namespace="b",job="one",mux_namespace="infra",mux="lb"} 100x20`,
			},
			want: []string{
				`15m warning SvcLbMuxRangeNearlyUsedUp{job="one", mux="lb", mux_namespace="infra", namespace="a"}`,
			},
		},
		// Five numbers an hour use up the range within a day. The rule needs four hours of data to say so.
		"a range fills steadily": {
			about: "SvcLbMuxRangeUsedUpSoon", length: 6 * time.Hour,
			series: []string{free + " 45-0.0833x360", size + " 100x360"},
			want:   []string{"4h30m warning SvcLbMuxRangeUsedUpSoon" + ofMux},
		},
		"a range fills steadily, and the reconciler restarts": {
			about: "SvcLbMuxRangeUsedUpSoon", length: 6 * time.Hour,
			series: []string{
				free + " 45-0.0833x40 stale", size + " 100x40 stale",
				"svc_lb_mux_port_range_free" + after + " _x42 41.5-0.0833x320",
				"svc_lb_mux_port_range_size" + after + " _x42 100x320",
			},
			want: []string{"4h30m warning SvcLbMuxRangeUsedUpSoon" + ofMux},
		},
		"a range fills so slowly that it lasts for days": {
			about: "SvcLbMuxRangeUsedUpSoon", length: 8 * time.Hour,
			series: []string{free + " 45-0.01x480", size + " 100x480"},
		},
		"a fresh install gets 70 channels in ten minutes": {
			about: "SvcLbMuxRangeUsedUpSoon", length: 8 * time.Hour,
			series: []string{free + " 100-7x10 30x470", size + " 100x480"},
		},
		"thirty channels are created at once": {
			about: "SvcLbMuxRangeUsedUpSoon", length: 12 * time.Hour,
			series: []string{free + " 45x300 15x500", size + " 100x800"},
		},
		"a busy morning fills a third of a large range": {
			about: "SvcLbMuxRangeUsedUpSoon", length: 8 * time.Hour,
			series: []string{free + " 1000-0.8333x400 667x80", size + " 1000x480"},
		},
		"a range is narrowed until few numbers are free": {
			about: "SvcLbMuxRangeUsedUpSoon", length: 8 * time.Hour,
			series: []string{free + " 140x200 40x280", size + " 200x200 100x280"},
		},
		"a range fills and empties every hour": {
			about: "SvcLbMuxRangeUsedUpSoon", length: 8 * time.Hour,
			series: []string{free + wave("45-0.5x30 30+0.5x30", 8), size + " 100x500"},
		},
	}
}

// wave repeats a part of a series.
func wave(part string, times int) string {
	all := ""
	for range times {
		all += " " + part
	}
	return all
}
