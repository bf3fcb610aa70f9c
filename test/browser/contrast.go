package browser

// Poor returns the texts that have too little contrast to their background: 4.5 to 1, or 3 to 1 for large texts.
func (b *Tab) Poor() []string {
	b.T.Helper()
	return Evaluate[[]string](b, contrast)
}

const contrast = `(() => {
	const parse = (text) => { const n = text.match(/[\d.]+/g).map(Number); return { rgb: n.slice(0, 3), a: n[3] ?? 1 } }
	const linear = (v) => { v /= 255; return v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4 }
	const light = ([r, g, b]) => 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b)
	const ratio = (a, b) => { const [x, y] = [light(a), light(b)].sort((p, q) => q - p); return (x + 0.05) / (y + 0.05) }
	const behind = (node) => {
		for (let n = node; n; n = n.parentElement) {
			const c = parse(getComputedStyle(n).backgroundColor)
			if (c.a === 1) return c.rgb
		}
		return matchMedia('(prefers-color-scheme: dark)').matches ? [0, 0, 0] : [255, 255, 255]
	}
	const poor = new Set()
	const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
	while (walk.nextNode()) {
		const text = walk.currentNode.textContent.trim(), node = walk.currentNode.parentElement
		if (!text || !node.checkVisibility() || node.closest('noscript, .skip, .quiet, datalist')) continue
		const style = getComputedStyle(node), size = parseFloat(style.fontSize)
		const large = size >= 24 || size >= 18.66 && style.fontWeight >= 700
		const has = ratio(parse(style.color).rgb, behind(node))
		if (has < (large ? 3 : 4.5)) poor.add(has.toFixed(2) + ' to 1: ' + text.slice(0, 40) + ' (' + node.className + ')')
	}
	return [...poor]
})()`
