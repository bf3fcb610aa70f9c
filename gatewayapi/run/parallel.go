package run

import "sync"

// WritesAtOnce is how many writes of a pass run at a time.
const WritesAtOnce = 16

// InParallel calls do with each item, with some at a time, and returns the first item's error that there is. One at a time run in the
// caller's goroutine.
func InParallel[T any](atOnce int, items []T, do func(T) error) error {
	var all sync.WaitGroup
	failed := make([]error, len(items))
	places := make(chan struct{}, atOnce)
	for i := range items {
		if atOnce == 1 {
			failed[i] = do(items[i])
			continue
		}
		places <- struct{}{}
		all.Go(func() {
			defer func() { <-places }()
			failed[i] = do(items[i])
		})
	}
	all.Wait()
	for _, err := range failed { // a conflict is told by its type, which a joined error hides
		if err != nil {
			return err
		}
	}
	return nil
}
