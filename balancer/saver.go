package balancer

import (
	"sync"
	"time"

	"go.uber.org/zap"

	"nowake.ai/svc-lb-mux/balancer/keep"
)

// saver saves states while the agent goes on: a disk can take longer than a pass. A state that was replaced before its
// turn isn't saved. Saving takes a tenth of the time at most.
type saver struct {
	states chan *keep.State
	ending chan struct{}
	ended  *sync.WaitGroup
}

const saveShare = 10

func newSaver(to keep.Directory, log *zap.SugaredLogger) saver {
	s := saver{make(chan *keep.State, 1), make(chan struct{}), &sync.WaitGroup{}}
	s.ended.Go(func() {
		said := ""
		for state := range s.states {
			begin, text := time.Now(), ""
			if err := to.Save(state); err != nil {
				text = err.Error()
			}
			if text != said && text != "" {
				log.Errorw("The state can't be saved: a restart without an API server would start from an older one", "error", text)
			}
			said = text
			select {
			case <-time.After(saveShare * time.Since(begin)):
			case <-s.ending:
			}
		}
	})
	return s
}

func (s *saver) save(state *keep.State) {
	select {
	case <-s.states:
	default:
	}
	s.states <- state
}

// finish saves the state that waits, and ends the saver.
func (s *saver) finish() {
	close(s.ending)
	close(s.states)
	s.ended.Wait()
}
