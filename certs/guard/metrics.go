package guard

import "github.com/prometheus/client_golang/prometheus"

// collector reports the current status at each scrape.
type collector struct {
	status func() Status
}

func onGuardDesc() *prometheus.Desc {
	return prometheus.NewDesc("svc_lb_mux_admission_on_guard",
		"1 while a handshake with the webhook's Service succeeds as an API server's would.", nil, nil)
}

func faultDesc() *prometheus.Desc {
	return prometheus.NewDesc("svc_lb_mux_admission_fault",
		"1 while admission, or the renewal of its certificate, has a fault of that reason.", []string{"reason"}, nil)
}

func expiryDesc() *prometheus.Desc {
	return prometheus.NewDesc("svc_lb_mux_webhook_certificate_expiry_timestamp_seconds",
		"When the certificate that the webhook's Service serves expires, in seconds since 1970; 0 if none was seen.", nil,
		nil)
}

// Describe is for prometheus.Collector.
func (collector) Describe(ch chan<- *prometheus.Desc) {
	ch <- onGuardDesc()
	ch <- faultDesc()
	ch <- expiryDesc()
}

// Collect is for prometheus.Collector. It reports nothing before the first check.
func (c collector) Collect(ch chan<- prometheus.Metric) {
	status := c.status()
	if !status.Known {
		return
	}
	gauge := func(desc *prometheus.Desc, value float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value, labels...)
	}
	is := func(yes bool) float64 {
		if yes {
			return 1
		}
		return 0
	}
	gauge(onGuardDesc(), is(status.OnGuard))
	present := map[Reason]bool{}
	for _, fault := range status.Faults {
		present[fault.Reason] = true
	}
	for _, reason := range Reasons() {
		gauge(faultDesc(), is(present[reason]), string(reason))
	}
	var expiry float64
	if !status.NotAfter.IsZero() {
		expiry = float64(status.NotAfter.Unix())
	}
	gauge(expiryDesc(), expiry)
}
