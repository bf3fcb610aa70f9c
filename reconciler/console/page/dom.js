// Helpers that build the page. All content becomes text or an attribute with a fixed name, never markup.

const svgNames = new Set(['svg', 'rect', 'path', 'line', 'g', 'circle'])

// h makes an element. Properties are attributes, with these exceptions: class, on* for listeners, data for data-*, and
// style, which is set property by property, as the content security policy requires.
export function h(name, props, ...children) {
  const node = svgNames.has(name) ? document.createElementNS('http://www.w3.org/2000/svg', name) : document.createElement(name)
  for (const [key, value] of Object.entries(props ?? {})) {
    if (value === undefined || value === null || value === false) continue
    if (key.startsWith('on')) node.addEventListener(key.slice(2), value)
    else if (key === 'data') Object.assign(node.dataset, value)
    else if (key === 'style') for (const [part, to] of Object.entries(value)) node.style.setProperty(part, to)
    else if (key === 'value') node.value = value
    else node.setAttribute(key, value === true ? '' : String(value))
  }
  node.append(...children.flat(Infinity).filter((child) => child !== undefined && child !== null && child !== false))
  return node
}

// fill replaces an element's content if the signature has changed.
export function fill(node, signature, build) {
  if (node.signature === signature) return
  const focused = focusWithin(node)
  node.signature = signature
  node.replaceChildren(...[build()].flat(Infinity).filter(Boolean))
  refocus(node, focused)
}

// keyed updates an element's children to a list, and touches only those that changed: so scrolling, selection and focus
// stay in place.
export function keyed(parent, items, keyOf, signatureOf, build) {
  const before = parent.kept ?? new Map()
  const now = new Map()
  let at = parent.firstChild
  for (const item of items) {
    const key = keyOf(item), signature = signatureOf(item)
    let kept = before.get(key)
    before.delete(key)
    if (kept && kept.signature !== signature) {
      const focused = focusWithin(kept.node)
      const node = build(item)
      if (kept.node === at) at = node
      kept.node.replaceWith(node)
      refocus(node, focused)
      kept = { node, signature }
    }
    kept ??= { node: build(item), signature }
    if (kept.node === at) at = at.nextSibling
    else parent.insertBefore(kept.node, at)
    now.set(key, kept)
  }
  for (const gone of before.values()) gone.node.remove()
  parent.kept = now
}

function focusWithin(node) {
  return node.contains(document.activeElement) ? document.activeElement.dataset.focus ?? '' : undefined
}

function refocus(node, focused) {
  if (focused === undefined) return
  const again = node.dataset.focus === focused ? node : [...node.querySelectorAll('[data-focus]')].find((n) => n.dataset.focus === focused)
  again?.focus({ preventScroll: true })
}

// ago shows a time relative to now. tick keeps it up to date.
export function ago(at) {
  return h('time', { datetime: at, title: new Date(at).toLocaleString(), data: { at } }, since(at))
}

export function tick() {
  for (const node of document.querySelectorAll('time[data-at]')) {
    const text = since(node.dataset.at)
    if (node.textContent !== text) node.textContent = text
  }
}

function since(at) {
  const seconds = Math.round((Date.now() - Date.parse(at)) / 1000)
  if (seconds < 0) return 'in ' + span(-seconds)
  return seconds < 5 ? 'just now' : span(seconds) + ' ago'
}

function span(seconds) {
  for (const [size, name] of [[86400, 'd'], [3600, 'h'], [60, 'min']]) {
    if (seconds >= size) return Math.floor(seconds / size) + ' ' + name
  }
  return seconds + ' s'
}

// Links to pages. Names are encoded, since they may contain any character.
export const muxLink = (key) => '#/mux/' + key.split('/').map(encodeURIComponent).join('/')
export const serviceLink = (key) => '#/service/' + key.split('/').map(encodeURIComponent).join('/')

export const count = (n, one, many = one + 's') => `${n.toLocaleString('en')} ${n === 1 ? one : many}`
