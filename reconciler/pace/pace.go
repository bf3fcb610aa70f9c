// Package pace slows down a write that another writer keeps undoing.
//
// A writer that writes the same content to the same object twice in a row corrects drift: in between, another writer
// changed the object back. The first correction is made at once. While the drift goes on, each further correction waits
// twice as long as the one before.
package pace

import (
	"encoding/json"
	"hash/fnv"
	"sync"
	"time"
)

const (
	// FirstPause is how long the second correction waits after the first one.
	FirstPause = time.Second
	// LongestPause is the longest wait between two corrections.
	LongestPause = 5 * time.Minute
	// Calm is how long an object must stay as written until its next drift counts as new. It is longer than
	// LongestPause.
	Calm = 10 * time.Minute
	// rested is how many pauses of quiet reset the next pause to FirstPause. A tool that reverts an object every few
	// minutes causes no storm, and the channels that lost their ports need the correction soon.
	rested = 4
)

// Content identifies the content of a write. Equal contents are equal writes.
type Content uint64

// ContentOf identifies values by their JSON.
func ContentOf(values ...any) Content {
	hash := fnv.New64a()
	_ = json.NewEncoder(hash).Encode(values) // what is written to the API server can be encoded
	return Content(hash.Sum64())
}

// Pace remembers the last write of each object.
type Pace[K comparable] struct {
	mu    sync.Mutex
	last  map[K]write
	sweep time.Time
}

type write struct {
	content   Content
	at        time.Time
	pause     time.Duration // until the next correction; 0 before the first one
	corrected time.Time
	before    *write // the write before this one, for Failed
}

// Turn is the answer to a writer that asks to write.
type Turn struct {
	// Wait is how long the writer must wait before it asks again; 0 if it may write now.
	Wait time.Duration
	// Drift is true if the write repeats the last one: another writer undid the last one.
	Drift bool
	// First is true for the first correction of a drift, which is reported. The corrections that follow aren't.
	First bool
}

// New returns a Pace that knows no object.
func New[K comparable]() *Pace[K] { return &Pace[K]{last: map[K]write{}} }

// Ask asks to write content to an object. If there is no wait, the write counts as made, unless Failed takes that back.
func (p *Pace[K]) Ask(key K, content Content, now time.Time) Turn {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tidy(now)
	last, known := p.last[key]
	if known && now.Before(last.at) { // the clock was set back
		last = write{content: last.content, at: now}
	}
	before := &last
	if !known {
		before = nil
	} else {
		before.before = nil
	}
	if !known || last.content != content {
		p.last[key] = write{content: content, at: now, before: before}
		return Turn{}
	}
	turn := Turn{Drift: true, Wait: max(last.corrected.Add(last.pause).Sub(now), 0)}
	if last.pause == 0 {
		turn = Turn{Drift: true, First: true}
	}
	if turn.Wait > 0 {
		return turn
	}
	p.last[key] = write{content: content, at: now, pause: next(last, now), corrected: now, before: before}
	return turn
}

// Failed takes back the last turn of an object: its write wasn't made. Then it is no drift to write the same content
// again.
func (p *Pace[K]) Failed(key K) {
	p.mu.Lock()
	defer p.mu.Unlock()
	last, known := p.last[key]
	switch {
	case !known:
	case last.before == nil:
		delete(p.last, key)
	default:
		p.last[key] = *last.before
	}
}

// Keep drops the objects that aren't there any more.
func (p *Pace[K]) Keep(there func(K) bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for key := range p.last {
		if !there(key) {
			delete(p.last, key)
		}
	}
}

// next returns the pause after a correction that is made now.
func next(last write, now time.Time) time.Duration {
	if last.pause == 0 || now.Sub(last.corrected) >= rested*last.pause {
		return FirstPause
	}
	return min(2*last.pause, LongestPause)
}

// Forget drops an object. The next write of it repeats nothing.
func (p *Pace[K]) Forget(key K) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.last, key)
}

// tidy resets the pause of each object that needed no correction for Calm: a later drift is reported again.
func (p *Pace[K]) tidy(now time.Time) {
	if now.Before(p.sweep) {
		return
	}
	p.sweep = now.Add(Calm)
	for key, last := range p.last {
		if last.pause > 0 && now.Sub(last.corrected) >= Calm {
			last.pause = 0
			p.last[key] = last
		}
	}
}
