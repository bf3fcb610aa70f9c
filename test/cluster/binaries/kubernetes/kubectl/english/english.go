// Package english lets kubectl print its own texts. Each start would otherwise compress tables of translations into a
// zip archive, which takes half of its time.
//
// It must be initialized before any package that translates. Go initializes packages in the order of their import
// paths, so the path of this module sorts before k8s.io.
package english

import "k8s.io/kubectl/pkg/util/i18n"

func init() {
	if err := i18n.SetLoadTranslationsFunc(func() error { return nil }); err != nil {
		panic(err)
	}
}
