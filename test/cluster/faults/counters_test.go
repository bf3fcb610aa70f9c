package faults

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestRequestsAreCountedByVerbResourceAndUser(t *testing.T) {
	_, proxy, admin := startAll(t, Label("admin"))
	reconciler := clientOf(t, proxy.ConfigFor(jwtFor("system:serviceaccount:mux:reconciler")))
	ctx := t.Context()
	if err := errors.Join(get(ctx, admin), patchStatus(ctx, reconciler)); err != nil {
		t.Fatal(err)
	}
	before := proxy.Snapshot()
	proxy.Add(Rule{Match: Match{Verbs: []string{"create"}}, Do: Answer(409)})
	if err := create(ctx, reconciler); err == nil {
		t.Fatal("the rule didn't act")
	}
	if err := errors.Join(patchStatus(ctx, reconciler), patchStatus(ctx, reconciler)); err != nil {
		t.Fatal(err)
	}
	options := metav1.DeleteOptions{DryRun: []string{"All"}}
	// the error is irrelevant: the fake server's answer isn't a Status
	_ = reconciler.CoordinationV1().Leases("a").Delete(ctx, "x", options)

	since := proxy.Snapshot().Sub(before)
	want := []string{
		"1 delete (dry run) leases.coordination.k8s.io system:serviceaccount:mux:reconciler",
		"1 create services system:serviceaccount:mux:reconciler",
		"2 patch services/status system:serviceaccount:mux:reconciler",
	}
	if diff := cmp.Diff(want, lines(since)); diff != "" {
		t.Errorf("since (-want +got):\n%s", diff)
	}
	if writes := since.Where(Key.IsWrite).Total(); writes != 3 {
		t.Errorf("%d writes, want 3", writes)
	}
	if total := proxy.Snapshot().Total(); total != 6 {
		t.Errorf("%d in all, want 6", total)
	}
	if first := proxy.Snapshot().Keys()[0].User; first != "system:serviceaccount:mux:reconciler" {
		t.Errorf("keys aren't sorted by resource: %q first", first)
	}
	if admins := proxy.Snapshot().Where(func(key Key) bool { return key.User == "admin" }).Total(); admins != 1 {
		t.Errorf("%d requests of the admin, want 1", admins)
	}
}

// lines returns a snapshot's lines with single blanks.
func lines(s Snapshot) []string {
	got := []string{}
	for line := range strings.Lines(s.String()) {
		got = append(got, strings.Join(strings.Fields(line), " "))
	}
	return got
}

func TestLogHasTheLatestRequests(t *testing.T) {
	_, proxy, client := startAll(t, LogSize(3), Label("me"))
	ctx := t.Context()
	proxy.Add(Rule{Name: "conflict", Match: Match{Verbs: []string{"create"}}, Do: Answer(409)})
	proxy.Add(Rule{Name: "lose", Match: Match{Verbs: []string{"patch"}}, Do: DropAfter()})
	for range 5 {
		if err := get(ctx, client); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(create(ctx, client), patchStatus(ctx, client)); err == nil {
		t.Fatal("the rules didn't act")
	}
	if err := proxy.Quiet(ctx, 20*time.Millisecond, nil); err != nil {
		t.Fatal(err)
	}
	got := []string{}
	for _, entry := range proxy.Log() {
		got = append(got, entry.String())
		if entry.Took <= 0 || entry.Start.IsZero() || entry.Open {
			t.Errorf("%s: open %t, took %s", entry, entry.Open, entry.Took)
		}
	}
	want := []string{
		"get services a/web by me: 200",
		"create services a by me: 409 [conflict] (not made)",
		"patch services/status a/web by me: dropped by a rule [lose]",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}
}

func TestQuietWaitsForTheLastRequest(t *testing.T) {
	_, proxy, client := startAll(t)
	proxy.Add(Rule{Match: Match{Verbs: Writes()}, Do: DelayAfter(200 * time.Millisecond)})
	start := time.Now()
	done := make(chan error, 1)
	probe := proxy.Add(Rule{})
	go func() { done <- patchStatus(t.Context(), client) }()
	if err := probe.Wait(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	if err := proxy.Quiet(t.Context(), 50*time.Millisecond, nil); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(start); took < 250*time.Millisecond {
		t.Errorf("quiet after %s, though a request was in flight for 200 ms", took)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestEachRequestRestartsQuiet(t *testing.T) {
	const quiet = 200 * time.Millisecond
	_, proxy, client := startAll(t)
	done := make(chan error, 1)
	go func() {
		var err error
		for range 10 {
			err = errors.Join(err, get(t.Context(), client))
			time.Sleep(quiet / 10)
		}
		done <- err
	}()
	eventually(t, "a request", func() bool { return len(proxy.Log()) > 0 })
	if err := proxy.Quiet(t.Context(), quiet, nil); err != nil {
		t.Fatal(err)
	}
	log := proxy.Log()
	last := log[len(log)-1]
	if since := time.Since(last.Start.Add(last.Took)); since < quiet {
		t.Errorf("quiet %s after the last request", since)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestQuietIgnoresRequestsAndNamesTheLastOne(t *testing.T) {
	server, proxy, client := startAll(t)
	watchVia(t, server, proxy, jsonMedia)
	hold := proxy.Pause(Match{Resource: "leases"})
	go func() {
		// the proxy cuts the request at its close
		_, _ = client.CoordinationV1().Leases("a").Get(t.Context(), "x", metav1.GetOptions{})
	}()
	if err := hold.Wait(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	if err := proxy.Quiet(t.Context(), 50*time.Millisecond, Leases); err != nil {
		t.Errorf("with an open watch and leases: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	err := proxy.Quiet(ctx, 50*time.Millisecond, nil)
	if err == nil ||
		!strings.Contains(err.Error(), `the last request was "get leases.coordination.k8s.io a/x by unknown"`) {
		t.Errorf("with nothing ignored: %v", err)
	}
}
