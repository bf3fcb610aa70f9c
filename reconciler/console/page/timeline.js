// The decisions of this process and the Events that it sent, the newest first.

import { ago, count, h, keyed, muxLink, serviceLink } from './dom.js'

export function timelinePage({ store }, root) {
  const search = h('input', { type: 'search', placeholder: 'Name, reason or message', 'aria-label': 'Search the timeline', oninput: () => draw() })
  const kinds = h('div', { class: 'filters', role: 'group', 'aria-label': 'Kinds' })
  const list = h('ol', { class: 'timeline', 'aria-label': 'Decisions and Events' })
  const empty = h('p', { class: 'empty' })
  let only = ''
  for (const [name, word] of [['decision', 'Decisions'], ['event', 'Events'], ['warning', 'Warnings']]) {
    kinds.append(h('button', { type: 'button', 'aria-pressed': 'false', onclick: (event) => {
      only = only === name ? '' : name
      for (const button of kinds.children) button.setAttribute('aria-pressed', String(button === event.currentTarget && only !== ''))
      draw()
    } }, word))
  }
  root.append(h('h1', {}, 'Timeline'), h('p', { class: 'muted' }, 'The last few hundred decisions of this process with their reasons, and the Events that it sent.'),
    h('div', { class: 'tools' }, search, kinds), list, empty)

  function draw() {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean)
    const fits = (e) => (!only || e.kind === only || only === 'warning' && e.warning) && words.every((word) => e.text.toLowerCase().includes(word))
    const shown = store.newest().filter(fits)
    keyed(list, shown, (e) => e.id, (e) => e.text, (e) => entry(e, store))
    empty.hidden = shown.length > 0
    empty.textContent = store.timeline.size ? 'No entry matches.' : store.process?.leader ? 'No decisions or Events since this process started.' : 'This process follows: it decides nothing, and sends no Events.'
  }
  return { title: 'Timeline', update: draw }
}

function entry(e, store) {
  return h('li', { data: { tone: e.warning ? 'warn' : e.kind === 'decision' ? 'held' : 'off' } },
    h('div', { class: 'when' }, ago(e.at)), h('div', { class: 'what' }, e.kind === 'decision' ? decision(e) : event(e, store)))
}

function event(e, store) {
  const link = store.muxes.has(e.object) ? muxLink : serviceLink
  return [
    h('p', {}, h('span', { class: 'sign', 'aria-hidden': 'true' }, e.warning ? '! ' : ''), h('b', {}, e.reason), ' ',
      isGatewayAPI(e.object) ? e.object : h('a', { href: link(e.object), data: { focus: 'e' + e.id } }, e.object)),
    h('p', {}, e.message),
  ]
}

// isGatewayAPI is true for a name such as infra/gateway/edge. Such an object has no page.
const isGatewayAPI = (name) => name.split('/').length > 2

function decision(e) {
  const done = e.done ? 'carried out' : e.times > 1 ? `decided ${e.times} times, not carried out` : 'being carried out'
  return h('details', {},
    h('summary', { data: { focus: 'd' + e.id } }, h('b', {}, count(e.writes, 'write')), ' for ', h('a', { href: muxLink(e.mux) }, e.mux === '/' ? 'no mux' : e.mux), ' ', h('span', { class: 'muted' }, done),
      h('span', { class: 'gist' }, e.steps.map((s) => s.why[0]).filter(Boolean).slice(0, 2).join('; '))),
    h('ol', {}, e.steps.map((s) => h('li', {}, h('b', {}, `${s.verb} ${s.object}`), ': ', s.why.join('; ')))),
    e.writes > e.steps.length && h('p', { class: 'muted' }, `and ${e.writes - e.steps.length} more`))
}
