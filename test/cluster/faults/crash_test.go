package faults

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"
)

// burst sends five concurrent writes, again and again until it is stopped, as a reconciler with parallel workers does.
func burst(ctx context.Context, t *testing.T, proxy *Proxy) {
	client := clientOf(t, proxy.Config())
	var workers sync.WaitGroup
	for range 5 {
		workers.Go(func() {
			for ctx.Err() == nil {
				_ = patchStatus(ctx, client) // writes fail when the client is killed
			}
		})
	}
	workers.Wait()
}

func TestClientCrashesAfterExactlyNWrites(t *testing.T) {
	for _, writes := range []int{0, 1, 2, 7, 30} {
		t.Run(fmt.Sprint(writes, " writes"), func(t *testing.T) {
			server, proxy, client := startAll(t)
			alive, kill := context.WithCancel(t.Context())
			crashes, madeThen := 0, -1
			crash := proxy.CrashAfter(writes, Match{Func: Request.IsWrite}, func() {
				crashes, madeThen = crashes+1, len(server.requests())
				kill()
			})
			burst(alive, t, proxy)
			crash.Remove()
			if err := proxy.Quiet(t.Context(), 20*time.Millisecond, nil); err != nil {
				t.Fatal(err)
			}
			if crashes != 1 || madeThen != writes || len(server.requests()) != writes {
				t.Errorf("%d crashes, at write %d; %d made in the end", crashes, madeThen, len(server.requests()))
			}
			if err := patchStatus(t.Context(), client); err != nil {
				t.Errorf("after the restart: %v", err)
			}
		})
	}
}

func TestRemovedCrashPointNeverCrashes(t *testing.T) {
	_, proxy, client := startAll(t)
	crash := proxy.CrashAfter(1, Match{Func: Request.IsWrite}, func() { t.Error("crashed") })
	removed := make(chan struct{})
	remove := sync.OnceFunc(func() { crash.Remove(); close(removed) })
	proxy.OnWrite(func(step Step) {
		if step.Phase == After {
			remove() // the write is made, and its answer is on the way
		}
	})
	if err := patchStatus(t.Context(), client); !isDropped(err) {
		t.Errorf("before: %v", err)
	}
	<-removed // the removal cuts connections: also the next one, if it is opened meanwhile
	if err := patchStatus(t.Context(), clientOf(t, proxy.Config())); err != nil {
		t.Errorf("after: %v", err)
	}
}
