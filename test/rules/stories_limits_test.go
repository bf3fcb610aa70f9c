package rules

import "time"

func storiesOfLimits() map[string]story {
	held, foreign, limit := "svc_lb_mux_ports_held"+mux, "svc_lb_mux_ports_foreign"+mux, "svc_lb_mux_ports_limit"+mux
	return map[string]story{
		"a mux has all its ports, and then the limit is raised": {
			about: "SvcLbMuxLimitReached", length: 40 * time.Minute,
			series: []string{held + " 50x9 99x30", foreign + " 1x40", limit + " 100x19 200x20"},
			want:   []string{"15m critical SvcLbMuxLimitReached" + ofMux, "25m no more critical SvcLbMuxLimitReached" + ofMux},
		},
		"the limit is lowered to the number of ports in use": {
			about: "SvcLbMuxLimitReached", length: 40 * time.Minute,
			series: []string{held + " 50x40", foreign + " 0x40", limit + " 100x9 50x30"},
			want:   []string{"15m critical SvcLbMuxLimitReached" + ofMux},
		},
		"channels name a missing mux, which has no ports": {
			about: "SvcLbMuxLimitReached", length: 2 * time.Hour,
			series: []string{held + " 0x120", foreign + " 0x120", limit + " 0x120"},
		},
		"nine tenths of a mux's ports are taken": {
			about: "SvcLbMuxLimitNearlyReached", length: 40 * time.Minute,
			series: []string{held + " 89x40", foreign + " 1x40", limit + " 100x40"},
			want:   []string{"15m warning SvcLbMuxLimitNearlyReached" + ofMux},
		},
		"fewer than nine tenths of a mux's ports are taken": {
			about: "SvcLbMuxLimitNearlyReached", length: 40 * time.Minute,
			series: []string{held + " 88x40", foreign + " 1x40", limit + " 100x40"},
		},
		"a mux fills steadily": {
			about: "SvcLbMuxLimitReachedSoon", length: 6 * time.Hour,
			series: []string{held + " 55+0.0833x360", foreign + " 0x360", limit + " 100x360"},
			want:   []string{"4h30m warning SvcLbMuxLimitReachedSoon" + ofMux},
		},
		"a mux fills slowly": {
			about: "SvcLbMuxLimitReachedSoon", length: 8 * time.Hour,
			series: []string{held + " 55+0.01x480", foreign + " 0x480", limit + " 100x480"},
		},
		"a busy morning fills a third of a large mux": {
			about: "SvcLbMuxLimitReachedSoon", length: 8 * time.Hour,
			series: []string{held + " 0+0.8333x400 333x80", foreign + " 0x480", limit + " 1000x480"},
		},
		"a fresh install gets 70 ports in ten minutes": {
			about: "SvcLbMuxLimitReachedSoon", length: 8 * time.Hour,
			series: []string{held + " 0+7x10 70x470", foreign + " 0x480", limit + " 100x480"},
		},
	}
}
