package run

import "sync"

// writesAtOnce is how many writes of a pass run at a time.
const writesAtOnce = 16

// InParallel calls do with each item, and returns the first item's error that there is.
func InParallel[T any](items []T, do func(T) error) error {
	var all sync.WaitGroup
	failed := make([]error, len(items))
	places := make(chan struct{}, writesAtOnce)
	for i := range items {
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
