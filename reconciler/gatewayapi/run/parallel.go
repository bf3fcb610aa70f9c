package run

import "sync"

// WritesAtOnce is how many writes of a pass run at a time.
const WritesAtOnce = 16

// InParallel calls do with each item, atOnce of them at a time. Among the errors, it returns that of the first item
// that failed. If atOnce is 1, do runs in the caller's goroutine.
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
	for _, err := range failed { // one error alone, since callers ask whether it is a conflict
		if err != nil {
			return err
		}
	}
	return nil
}
