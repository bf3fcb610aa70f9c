package plan

import "hash/fnv"

// content holds the texts that identify one of our writes.
type content []byte

func contentOf(texts ...string) content { return content(nil).and(texts...) }

func (c content) and(texts ...string) content {
	for _, text := range texts {
		c = append(append(c, text...), 0)
	}
	return c
}

func (c content) hash() uint64 {
	hash := fnv.New64a()
	_, _ = hash.Write(c)
	return hash.Sum64()
}
