package certs

import (
	"crypto/x509"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"nowake.ai/svc-lb-mux/certs/certstest"
)

func TestStageOfACertificatesLife(t *testing.T) {
	const day = 24 * time.Hour
	for name, c := range map[string]struct {
		life, left time.Duration
		want       stage
	}{
		"a new certificate":                    {90 * day, 90 * day, fresh},
		"due for renewal":                      {90 * day, 30 * day, fresh},
		"a week before the end":                {90 * day, 7 * day, fresh},
		"less than a week before the end":      {90 * day, 7*day - time.Second, ending},
		"ten years, a month before the end":    {3650 * day, 30 * day, fresh},
		"a day, due for renewal":               {day, 8 * time.Hour, fresh},
		"a day, with a quarter left":           {day, 6 * time.Hour, fresh},
		"a day, with less than a quarter left": {day, 6*time.Hour - time.Second, ending},
		"the last moment":                      {90 * day, 0, ending},
		"after the end":                        {90 * day, -time.Nanosecond, over},
		"an end before the beginning":          {-day, -day, over},
	} {
		t.Run(name, func(t *testing.T) {
			end := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
			leaf := &x509.Certificate{NotBefore: end.Add(-c.life), NotAfter: end}
			if got := stageOf(leaf, end.Add(-c.left)); got != c.want {
				t.Errorf("got %d, want %d", got, c.want)
			}
		})
	}
}

// said returns new log lines: the level of each, and the certificate's serial number.
func (f follower) said(t *testing.T) []string {
	t.Helper()
	var all []string
	for text := range strings.Lines(f.logs.String()) {
		var line struct{ Level, Serial string }
		if err := json.Unmarshal([]byte(text), &line); err != nil {
			t.Fatal(err)
		}
		all = append(all, line.Level+" "+line.Serial)
	}
	f.logs.Reset()
	return all
}

func TestEachStageIsLoggedOncePerCertificate(t *testing.T) {
	authority, volume := certstest.NewAuthority(t), certstest.NewVolume(t)
	f := follow(volume.Dir)
	begin := time.Now()
	after := func(span time.Duration, want ...string) {
		t.Helper()
		f.now = func() time.Time { return begin.Add(span) }
		for range 3 {
			f.Look(t.Context())
		}
		if diff := cmp.Diff(want, f.said(t)); diff != "" {
			t.Errorf("after %s (-want +got):\n%s", span, diff)
		}
	}
	after(0, "error ") // no files
	volume.Put(t, authority.Pair(t, begin.Add(9*time.Hour)))
	after(0, "info 2")
	after(6 * time.Hour)
	after(7*time.Hour, "warn 2")
	after(8 * time.Hour)
	volume.Put(t, authority.Pair(t, begin.Add(10*time.Hour)))
	after(8*time.Hour, "info 3", "warn 3")
	after(11*time.Hour, "error 3")
	after(12 * time.Hour)
	volume.Put(t, authority.Pair(t, begin.Add(48*time.Hour)))
	after(12*time.Hour, "info 4")
}

func TestLogHasAllNamesOfTheCertificate(t *testing.T) {
	authority, volume := certstest.NewAuthority(t), certstest.NewVolume(t)
	volume.Put(t, authority.Pair(t, time.Now().Add(time.Hour)))
	f := follow(volume.Dir)
	f.Look(t.Context())
	var line struct{ Names []string }
	if err := json.Unmarshal(f.logs.Bytes(), &line); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"localhost", "127.0.0.1"}, line.Names); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestReadinessNamesTheFault(t *testing.T) {
	authority, volume := certstest.NewAuthority(t), certstest.NewVolume(t)
	f := follow(volume.Dir)
	begin := time.Now()
	for _, step := range []struct {
		what          string
		do            func()
		ready, remark string // a part of each message; empty if there is none
	}{
		{"no files yet", func() {}, "no such file", ""},
		{"a pair", func() { volume.Put(t, authority.Pair(t, begin.Add(time.Hour))) }, "", ""},
		{"broken files", func() { volume.Put(t, certstest.Pair{}) }, "", "the last good certificate is served, until"},
		{"its end", func() { f.now = func() time.Time { return begin.Add(2 * time.Hour) } }, "has expired at",
			"the last good"},
		{"a new pair", func() { volume.Put(t, authority.Pair(t, begin.Add(3*time.Hour))) }, "", ""},
	} {
		step.do()
		f.Look(t.Context())
		ready, remark := "", f.Remark()
		if err := f.Ready(); err != nil {
			ready = err.Error()
		}
		if !strings.Contains(ready, step.ready) || (ready == "") != (step.ready == "") ||
			!strings.Contains(remark, step.remark) || (remark == "") != (step.remark == "") {
			t.Errorf("%s: ready %q, remark %q; want the parts %q and %q", step.what, ready, remark, step.ready, step.remark)
		}
	}
}
