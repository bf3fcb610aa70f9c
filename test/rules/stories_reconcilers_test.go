package rules

import "time"

func storiesOfReconcilers() map[string]story {
	const build = `svc_lb_mux_build_info{job="svc-lb-mux",component="`
	webhook := build + `webhook",pod="w"} `
	leads := func(pod, values string) string {
		return `leader_election_master_status{job="svc-lb-mux",name="svc-mux",pod="` + pod + `"} ` + values
	}
	errors := func(values string) string {
		return `controller_runtime_reconcile_errors_total{job="svc-lb-mux",controller="mux",pod="r"} ` + values
	}
	requests := func(method, code, values string) string {
		return `rest_client_requests_total{job="svc-lb-mux",method="` + method + `",code="` + code + `",pod="r"} ` + values
	}
	const absent = `{component="reconciler", job="svc-lb-mux"}`
	const noLeader = `{job="svc-lb-mux", name="svc-mux"}`
	const failing = `{controller="mux", job="svc-lb-mux"}`
	const refused = `{code="403", job="svc-lb-mux", method="PATCH"}`
	return map[string]story{
		"the reconciler is absent for twenty minutes": {
			about: "SvcLbMuxReconcilerAbsent", length: time.Hour, quiet: true,
			series: []string{webhook + "1x60", build + `reconciler",pod="r"} 1x10 stale`,
				build + `reconciler",pod="r2"} _x30 1x30`},
			want: []string{"16m critical SvcLbMuxReconcilerAbsent" + absent,
				"30m no more critical SvcLbMuxReconcilerAbsent" + absent},
		},
		"the reconciler restarts within two minutes": {
			about: "SvcLbMuxReconcilerAbsent", length: time.Hour, quiet: true,
			series: []string{webhook + "1x60", build + `reconciler",pod="r"} 1x10 stale`,
				build + `reconciler",pod="r2"} _x12 1x50`},
		},
		"a fresh install is up within two minutes of its rules": {
			about: "SvcLbMuxReconcilerAbsent", length: time.Hour, quiet: true,
			series: []string{build + `webhook",pod="w"} _x2 1x60`, build + `reconciler",pod="r"} _x2 1x60`},
		},
		"of two releases, one has no reconciler": {
			about: "SvcLbMuxReconcilerAbsent", length: 20 * time.Minute, quiet: true,
			of: []string{`namespace="a",job="one"`, `namespace="a",job="two"`},
			series: []string{
				`svc_lb_mux_build_info{namespace="a",job="one",component="webhook"} 1x20`,
				`svc_lb_mux_build_info{namespace="a",job="one",component="reconciler"} 1x20`,
				`svc_lb_mux_build_info{namespace="a",job="two",component="webhook"} 1x20`,
			},
			want: []string{`5m critical SvcLbMuxReconcilerAbsent{component="reconciler", job="two", namespace="a"}`},
		},
		"no reconciler can take the lease": {
			about: "SvcLbMuxNoLeader", length: 20 * time.Minute,
			series: []string{leads("r", "1x4 0x20"), leads("r2", "0x20")},
			want:   []string{"7m critical SvcLbMuxNoLeader" + noLeader},
		},
		"one reconciler leads, and the other is on standby": {
			about: "SvcLbMuxNoLeader", length: 30 * time.Minute,
			series: []string{leads("r", "1x30"), leads("r2", "0x30")},
		},
		"the lease passes to the other reconciler": {
			about: "SvcLbMuxNoLeader", length: 30 * time.Minute,
			series: []string{leads("r", "1x9 stale"), leads("r2", "0x10 1x20")},
		},
		"of two releases, one has no leader": {
			about: "SvcLbMuxNoLeader", length: 20 * time.Minute,
			of: []string{`namespace="a",job="one"`, `namespace="b",job="one"`},
			series: []string{
				`leader_election_master_status{namespace="a",job="one",name="svc-mux"} 1x20`,
				`leader_election_master_status{namespace="b",job="one",name="svc-mux"} 0x20`,
			},
			want: []string{`2m critical SvcLbMuxNoLeader{job="one", name="svc-mux", namespace="b"}`},
		},
		"a reconcile fails at each retry": {
			about: "SvcLbMuxReconcilerFailing", length: time.Hour,
			series: []string{errors("0x4 1x4 2x4 3x4 4x4 5x4 6x4 7x4 8x30")},
			want: []string{
				"25m warning SvcLbMuxReconcilerFailing" + failing, "59m no more warning SvcLbMuxReconcilerFailing" + failing,
			},
		},
		"the API server was away for three minutes": {
			about: "SvcLbMuxReconcilerFailing", length: time.Hour,
			series: []string{errors("0x4 10 20 30x60")},
		},
		"a permission is missing": {
			about: "SvcLbMuxWritesRefused", length: 40 * time.Minute,
			series: []string{requests("PATCH", "403", "0x4 1x4 2x4 3x4 4x4 5x4 6x4 7x4 8x4"),
				requests("PATCH", "200", "0+5x40")},
			want: []string{"25m warning SvcLbMuxWritesRefused" + refused},
		},
		"write conflicts, and one write is refused": {
			about: "SvcLbMuxWritesRefused", length: time.Hour,
			series: []string{requests("PATCH", "409", "0+1x60"), requests("PATCH", "422", "0x4 1x60"),
				requests("GET", "403", "0+1x60")},
		},
	}
}
