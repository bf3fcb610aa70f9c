// Package fight is about objects that somebody else keeps changing back. Each is put right at once the first time, and
// ever more slowly while it goes on; that it goes on is told once. Whoever stops for a while is forgiven.
package fight

import (
	"sync"
	"time"
)

// The pace of a fight.
const (
	// Pause is how long the second correction waits after the first; each further one waits twice as long.
	Pause = time.Second
	// LongestPause bounds it.
	LongestPause = 5 * time.Minute
	// Calm is how long a quarrel must have rested to be over. It is longer than any pause.
	Calm = 10 * time.Minute
	// rested is after how many pauses the next one is the first again: who changes something now and then, such as a
	// tool that reverts each few minutes, isn't in a hurry, and those who suffer from the change are.
	rested = 4
)

// Fights keeps the score, by object.
type Fights[K comparable] struct {
	mu    sync.Mutex
	score map[K]round
	sweep time.Time
}

// round is the last correction of an object.
type round struct {
	at    time.Time
	pause time.Duration
}

// New returns an empty score.
func New[K comparable]() *Fights[K] { return &Fights[K]{score: map[K]round{}} }

// Allow asks to put an object right. With no wait, it may be done and is counted; first is true if that is the first
// time, which is worth telling. Else nothing is counted: ask again after the wait.
func (f *Fights[K]) Allow(key K, now time.Time) (wait time.Duration, first bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.tidy(now)
	last, known := f.score[key]
	if !known || now.Sub(last.at) >= Calm || now.Before(last.at) { // a clock may be set back
		f.score[key] = round{now, Pause}
		return 0, true
	}
	if wait = last.at.Add(last.pause).Sub(now); wait > 0 {
		return wait, false
	}
	pause := min(2*last.pause, LongestPause)
	if now.Sub(last.at) >= rested*last.pause {
		pause = Pause
	}
	f.score[key] = round{now, pause}
	return 0, false
}

// Forget drops an object that is gone for good.
func (f *Fights[K]) Forget(key K) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.score, key)
}

func (f *Fights[K]) tidy(now time.Time) {
	if now.Before(f.sweep) {
		return
	}
	f.sweep = now.Add(Calm)
	for key, last := range f.score {
		if now.Sub(last.at) >= Calm {
			delete(f.score, key)
		}
	}
}
