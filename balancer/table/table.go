package table

import (
	"fmt"

	"github.com/google/nftables"

	"nowake.ai/svc-lb-mux/balancer/want"
)

// Kernel is the kernel's side of our tables in one network namespace. It isn't safe for concurrent use.
type Kernel struct {
	namespace int
	// have is what the kernel holds, in the order of families. It is nil while that isn't known.
	have []*state
	// last are the tables that were applied last; nil if the kernel may hold something else.
	last *memory
}

// Open returns the tables of a network namespace, which a file descriptor refers to; 0 is the process's own. Nothing is
// read or written yet.
func Open(namespace int) *Kernel { return &Kernel{namespace: namespace} }

// Applied says what a transaction did.
type Applied struct {
	Added, Removed int
	// Rebuilt is true if a table was missing, or changed by others, and was replaced as a whole.
	Rebuilt bool
}

// Apply makes the kernel hold the tables, in one transaction with the difference. Without a difference, it writes
// nothing. After an error the tables are as they were, and the next Apply reads them again.
func (k *Kernel) Apply(tables *want.Tables) (Applied, error) {
	if err := k.read(); err != nil {
		return Applied{}, err
	}
	var done Applied
	var b batch
	next := k.differ(tables)
	for i, f := range families() {
		c := &next.changes[i]
		if c.empty() {
			continue
		}
		b.write(f, c)
		done.Rebuilt = done.Rebuilt || c.rebuild
		for _, set := range f.sets() {
			done.Added += len(c.add[set.name])
			done.Removed += len(c.remove[set.name])
		}
	}
	if err := b.send(k.namespace); err != nil {
		k.Forget()
		return Applied{}, err
	}
	k.remember(&next, tables)
	return done, nil
}

// Forget makes the next Apply read the kernel's tables instead of trusting memory, as after a restart.
func (k *Kernel) Forget() { k.have, k.last = nil, nil }

// Intact is false if others removed or changed a table, a chain, a rule or a set of ours. Then Intact calls Forget, so
// that the next Apply makes the whole table again. It doesn't read elements.
func (k *Kernel) Intact() (bool, error) {
	conn, err := k.dial()
	if err != nil {
		return false, err
	}
	defer conn.CloseLasting()
	for _, f := range families() {
		have, err := newReader(f, k.namespace, conn).skeleton()
		if err != nil || !have.intact {
			k.Forget()
			return false, err
		}
	}
	return true, nil
}

// Remove removes our tables.
func (k *Kernel) Remove() error {
	k.Forget()
	var b batch
	for _, f := range families() {
		b.addTable(f) // so that there is a table to delete
		b.deleteTable(f)
	}
	return b.send(k.namespace)
}

func (k *Kernel) read() error {
	if k.have != nil {
		return nil
	}
	conn, err := k.dial()
	if err != nil {
		return err
	}
	defer conn.CloseLasting()
	var have []*state
	for _, f := range families() {
		state, err := newReader(f, k.namespace, conn).read()
		if err != nil {
			return fmt.Errorf("read our nftables: %w", err)
		}
		have = append(have, state)
	}
	k.have = have
	return nil
}

func (k *Kernel) dial() (*nftables.Conn, error) {
	conn, err := nftables.New(nftables.AsLasting(), nftables.WithNetNSFd(k.namespace))
	if err != nil {
		return nil, fmt.Errorf("open a netlink socket: %w", err)
	}
	return conn, nil
}
