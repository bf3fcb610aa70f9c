package rules

import (
	"flag"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite testdata/texts.txt")

// story is a set of scraped series, and the alerts that must come of it.
type story struct {
	// about is the alert that the story tests. No other alert may fire either.
	about string
	// series has a value per minute, in the notation of Prometheus' own tests.
	series []string
	length time.Duration
	// of holds the job and namespace labels of releases that have rules. The default is the rules' own job.
	of []string
	// quiet omits the series of two healthy processes.
	quiet bool
	want  []string
}

// well returns the series of processes that are healthy for a week.
func well(release string) []string {
	return []string{
		`svc_lb_mux_build_info{` + release + `,component="reconciler",pod="r"} 1x10080`,
		`svc_lb_mux_build_info{` + release + `,component="webhook",pod="w1"} 1x10080`,
		`svc_lb_mux_build_info{` + release + `,component="webhook",pod="w2"} 1x10080`,
	}
}

// TestStories plays every story.
func TestStories(t *testing.T) {
	texts := map[string]string{}
	for name, s := range stories() {
		t.Run(name, func(t *testing.T) {
			if s.of == nil {
				s.of = []string{file}
			}
			series := slices.Clone(s.series)
			var told []string
			for _, release := range s.of {
				if !s.quiet {
					series = append(series, well(release)...)
				}
			}
			for _, release := range s.of {
				heard, said := play(t, load(t, release), series, s.length)
				told = append(told, heard...)
				for _, text := range said {
					texts[name] += text
				}
			}
			if diff := cmp.Diff(s.want, told); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	checkTexts(t, texts)
}

// checkTexts compares the expanded texts with testdata/texts.txt, where people can review them.
func checkTexts(t *testing.T, texts map[string]string) {
	t.Helper()
	var all strings.Builder
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		all.WriteString("# " + name + "\n" + texts[name] + "\n")
	}
	path := filepath.Join("testdata", "texts.txt")
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(all.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(read(t, path), all.String()); diff != "" {
		t.Errorf("%s differs; -update rewrites it (-want +got):\n%s", path, diff)
	}
}

// TestEachAlertHasStories checks that each alert has a story in which it fires, and one in which it doesn't.
func TestEachAlertHasStories(t *testing.T) {
	comes, stays := map[string]bool{}, map[string]bool{}
	for name, s := range stories() {
		found := slices.ContainsFunc(s.want, func(line string) bool { return strings.Contains(line, " "+s.about+"{") })
		comes[s.about] = comes[s.about] || found
		stays[s.about] = stays[s.about] || !found
		if len(s.series) == 0 && !s.quiet {
			t.Errorf("%q has no series", name)
		}
	}
	for _, rule := range load(t, file) {
		if !comes[rule.Alert] || !stays[rule.Alert] {
			t.Errorf("%s: fires in a story: %t; doesn't fire in a story about it: %t; want both", rule.Alert, comes[rule.Alert],
				stays[rule.Alert])
		}
		delete(comes, rule.Alert)
	}
	for about := range comes {
		t.Errorf("a story is about %q, which isn't an alert", about)
	}
}

func stories() map[string]story {
	all := map[string]story{}
	for _, some := range []map[string]story{storiesOfRanges(), storiesOfLimits(), storiesOfMuxes(), storiesOfReconcilers(),
		storiesOfAdmission(), storiesOfCertificates()} {
		maps.Copy(all, some)
	}
	return all
}
