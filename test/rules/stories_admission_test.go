package rules

import (
	"fmt"
	"time"
)

func storiesOfAdmission() map[string]story {
	const build = `svc_lb_mux_build_info{job="svc-lb-mux",component="`
	guard := func(pod, values string) string {
		return `svc_lb_mux_admission_on_guard{job="svc-lb-mux",pod="` + pod + `"} ` + values
	}
	fault := func(reason, values string) string {
		return `svc_lb_mux_admission_fault{job="svc-lb-mux",pod="r",reason="` + reason + `"} ` + values
	}
	failed := func(code, values string) string {
		return `svc_lb_mux_admission_failed_requests_total{job="svc-lb-mux",pod="w1",code="` + code + `"} ` + values
	}
	const release = `{job="svc-lb-mux"}`
	const notReady = `{job="svc-lb-mux", reason="CertificateNotReady"}`
	return map[string]story{
		"admission is off guard, and then on guard again": {
			about: "SvcLbMuxAdmissionOffGuard", length: 30 * time.Minute,
			series: []string{guard("r", "1x9 0x9 1x20")},
			want: []string{"12m critical SvcLbMuxAdmissionOffGuard" + release,
				"22m no more critical SvcLbMuxAdmissionOffGuard" + release},
		},
		"one of two reconcilers finds admission off guard": {
			about: "SvcLbMuxAdmissionOffGuard", length: 30 * time.Minute,
			series: []string{guard("r", "1x30"), guard("r2", "0x30")},
			want:   []string{"2m critical SvcLbMuxAdmissionOffGuard" + release},
		},
		"admission is off guard while its first certificate is made": {
			about: "SvcLbMuxAdmissionOffGuard", length: 30 * time.Minute,
			series: []string{guard("r", "0x1 1x30")},
		},
		"another job's admission is off guard": {
			about: "SvcLbMuxAdmissionOffGuard", length: 30 * time.Minute,
			series: []string{`svc_lb_mux_admission_on_guard{job="another",pod="r"} 0x30`},
		},
		"cert-manager can't issue the next certificate": {
			about: "SvcLbMuxCertificateNotKept", length: 40 * time.Minute,
			series: []string{guard("r", "1x40"), fault("CertificateNotReady", "0x4 1x40")},
			want:   []string{"20m warning SvcLbMuxCertificateNotKept" + notReady},
		},
		"a certificate is being renewed": {
			about: "SvcLbMuxCertificateNotKept", length: 40 * time.Minute,
			series: []string{fault("CertificateNotReady", "0x4 1x3 0x40"), fault("NotReachable", "0x40")},
		},
		"no webhook runs any more": {
			about: "SvcLbMuxWebhookAbsent", length: 20 * time.Minute, quiet: true,
			series: []string{build + `reconciler"} 1x20`, build + `webhook",pod="w1"} 1x4 stale`,
				build + `webhook",pod="w2"} 1x4 stale`},
			want: []string{`10m critical SvcLbMuxWebhookAbsent{component="webhook", job="svc-lb-mux"}`},
		},
		"one of two webhooks is gone": {
			about: "SvcLbMuxWebhookAbsent", length: 20 * time.Minute, quiet: true,
			series: []string{build + `reconciler"} 1x20`, build + `webhook",pod="w1"} 1x4 stale`,
				build + `webhook",pod="w2"} 1x20`},
		},
		"reviews fail": {
			about: "SvcLbMuxReviewsFailing", length: 30 * time.Minute,
			series: []string{failed("500", "0x4 1+1x30")},
			want:   []string{`20m warning SvcLbMuxReviewsFailing{code="500", job="svc-lb-mux"}`},
		},
		"one rush of large Services, and a client that sends invalid reviews": {
			about: "SvcLbMuxReviewsFailing", length: time.Hour,
			series: []string{failed("503", "0x4 7x60"), failed("400", "0+1x60")},
		},
		"reviews take two seconds": {
			about: "SvcLbMuxReviewsSlow", length: 30 * time.Minute,
			series: buckets("0+0x30", "0+60x30"),
			want:   []string{"16m warning SvcLbMuxReviewsSlow" + release},
		},
		"nearly all reviews take a millisecond": {
			about: "SvcLbMuxReviewsSlow", length: 30 * time.Minute,
			series: buckets("0+1000x30", "0+1001x30"),
		},
		"no reviews arrive": {
			about: "SvcLbMuxReviewsSlow", length: 30 * time.Minute,
			series: buckets("5x30", "9x30"),
		},
		"a webhook can't read Services": {
			about: "SvcLbMuxPredictionsMissing", length: 30 * time.Minute,
			series: []string{
				`svc_lb_mux_admission_predictions_ready{job="svc-lb-mux",pod="w1"} 1x30`,
				`svc_lb_mux_admission_predictions_ready{job="svc-lb-mux",pod="w2"} 0x30`,
			},
			want: []string{"15m warning SvcLbMuxPredictionsMissing" + release},
		},
		"webhooks without predictions, and a webhook that just started": {
			about: "SvcLbMuxPredictionsMissing", length: 30 * time.Minute,
			series: []string{`svc_lb_mux_admission_predictions_ready{job="svc-lb-mux",pod="w2"} 0x2 1x30`},
		},
	}
}

// buckets returns a histogram with the number of reviews below one second, and of all reviews.
func buckets(fast, all string) []string {
	var series []string
	for le, values := range map[string]string{"1": fast, "2.5": all, "+Inf": all} {
		series = append(series,
			fmt.Sprintf(`svc_lb_mux_admission_review_duration_seconds_bucket{job="svc-lb-mux",pod="w1",le=%q} %s`, le, values))
	}
	return series
}
