package rules

import (
	"fmt"
	"time"
)

func storiesOfCertificates() map[string]story {
	// A story begins at time zero, so a certificate's expiry is also its lifetime.
	expiry := func(pod string, values string) string {
		return fmt.Sprintf(`svc_lb_mux_certificate_expiry_timestamp_seconds{job="svc-lb-mux",pod=%q} %s`, pod, values)
	}
	failures := func(values string) string {
		return `svc_lb_mux_certificate_load_failures_total{job="svc-lb-mux",pod="w1"} ` + values
	}
	const day = 24 * 60 * 60
	const release = `{job="svc-lb-mux"}`
	return map[string]story{
		"a webhook has no certificate": {
			about: "SvcLbMuxCertificateMissing", length: 20 * time.Minute,
			series: []string{expiry("w1", "0x20"), expiry("w2", fmt.Sprintf("%dx20", 60*day))},
			want:   []string{"5m critical SvcLbMuxCertificateMissing" + release},
		},
		"a webhook waits two minutes for its first certificate": {
			about: "SvcLbMuxCertificateMissing", length: 20 * time.Minute,
			series: []string{expiry("w1", fmt.Sprintf("0x2 %dx20", 60*day))},
		},
		"a certificate isn't renewed, until a day before its end": {
			about: "SvcLbMuxCertificateExpiresSoon", length: 26 * time.Hour,
			series: []string{expiry("w1", fmt.Sprintf("%dx1500 %dx100", 7*day+600, 90*day)),
				expiry("w2", fmt.Sprintf("%dx1600", 90*day))},
			want: []string{
				"1h11m warning SvcLbMuxCertificateExpiresSoon" + release,
				"25h01m no more warning SvcLbMuxCertificateExpiresSoon" + release,
			},
		},
		"a certificate is renewed a month before its end": {
			about: "SvcLbMuxCertificateExpiresSoon", length: 4 * time.Hour,
			series: []string{expiry("w1", fmt.Sprintf("%dx60 %dx200", 30*day, 90*day))},
		},
		"a certificate expires": {
			about: "SvcLbMuxCertificateNearlyExpired", length: time.Hour,
			series: []string{expiry("w1", fmt.Sprintf("%dx100", 20*60))},
			want:   []string{"5m critical SvcLbMuxCertificateNearlyExpired" + release},
		},
		"a certificate is good for two days": {
			about: "SvcLbMuxCertificateNearlyExpired", length: 40 * time.Minute,
			series: []string{expiry("w1", fmt.Sprintf("%dx50", 2*day))},
		},
		"the files of a certificate are broken": {
			about: "SvcLbMuxCertificateUnreadable", length: 30 * time.Minute,
			series: []string{expiry("w1", fmt.Sprintf("%dx40", 60*day)), failures("0x4 1+6x40")},
			want:   []string{`20m warning SvcLbMuxCertificateUnreadable{job="svc-lb-mux", pod="w1"}`},
		},
		"the files of a certificate were half written for a moment": {
			about: "SvcLbMuxCertificateUnreadable", length: 30 * time.Minute,
			series: []string{failures("0x4 2x40")},
		},
	}
}
