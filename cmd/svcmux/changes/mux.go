package changes

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// describe returns the changes of the mux itself.
func (c *comparison) describe() Mux {
	was, is := c.before.World.Mux, c.after.World.Mux
	unread := c.prediction.unread[c.mux]
	changed := Mux{Name: c.mux.String(), Channels: []Channel{}, Settings: c.settings[c.mux], Unread: unread.Why()}
	if was != nil {
		changed.Ports, changed.Limit = len(was.Ports), c.before.Plan.Usage.Limit
	}
	if is != nil {
		changed.After, changed.Limit = len(is.Ports), c.after.Plan.Usage.Limit
	}
	switch {
	case unread.Mux != "":
	case was == nil && is != nil:
		changed.Action = "created"
	case was != nil && is == nil:
		changed.Action = "removed"
	case len(changed.Settings) > 0:
		changed.Action = "changed"
	}
	if c.after.Plan.Freeze != nil {
		changed.Freeze = c.after.Plan.Freeze.Message
	}
	if !c.after.Settled && unread.Mux == "" {
		changed.Notes = append(changed.Notes,
			"The prediction isn't certain: the dry run stopped before the reconciler's last write.")
	}
	changed.Notes = append(changed.Notes, c.unknowns(c.mux)...)
	return changed
}

// changedSettings returns the annotations that a manifest changes on a mux that exists.
func changedSettings(old, merged *corev1.Service) []Setting {
	if old == nil {
		return nil
	}
	names := map[string]bool{}
	for _, svc := range [...]*corev1.Service{old, merged} {
		for name := range svc.Annotations {
			names[name] = true
		}
	}
	delete(names, corev1.LastAppliedConfigAnnotation)
	var changed []Setting
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if was, is := old.Annotations[name], merged.Annotations[name]; was != is {
			changed = append(changed, Setting{name, was, is})
		}
	}
	return changed
}
