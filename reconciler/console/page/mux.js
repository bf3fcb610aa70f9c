// One mux: its numbers, and the map from its address over ports and channels to backends. The map is a list with a lane
// for each channel, so that a thousand lanes can be searched, scrolled, and read by a screen reader.

import { count, fill, h, keyed, serviceLink } from './dom.js'
import { badge, claimantKind, claimantName, claimants, note, numbersText, routes, strip } from './parts.js'
import { trafficPanel } from './traffic.js'
import { channelStates, muxName, muxStates, state } from './words.js'

const attached = new Set(['programmed', 'unbacked', 'pending', 'keeps', 'leaving', 'unknown'])
const dots = 10 // up to this many backends are drawn one by one

export function muxPage(app, root, key) {
  const { store } = app
  const traffic = trafficPanel(app, key)
  const head = h('section', { class: 'muxhead' })
  const numbers = h('section', { class: 'panel numbers', 'aria-label': 'Numbers' })
  const about = h('div', { class: 'about' })
  const search = h('input', { type: 'search', placeholder: 'Name, namespace, port or reason', 'aria-label': 'Search channels and listeners', oninput: () => draw() })
  const filters = h('div', { class: 'filters', role: 'group', 'aria-label': 'Channels by state' })
  const found = h('span', { class: 'muted found', role: 'status' })
  const refused = h('ul', { class: 'refused', 'aria-label': 'Channels that have no port' })
  const holders = h('span', {}, 'Channel')
  const aside = h('section', { class: 'panel aside', 'aria-label': 'Not attached' }, h('h2', {}, 'Not attached'), refused)
  const source = h('div', { class: 'source' })
  const lanes = h('ul', { class: 'lanes', 'aria-label': 'Channels with ports' })
  const nothing = h('p', { class: 'empty', hidden: true })
  const only = new Set()
  root.append(head, about, numbers, traffic.panel, h('div', { class: 'tools' }, search, filters, found),
    h('div', { class: 'map' }, h('section', { class: 'panel flow', 'aria-label': 'Map' },
      h('div', { class: 'heads', 'aria-hidden': 'true' }, h('span', {}, 'Address'), h('span', {}, 'Ports'), holders, h('span', {}, 'Backends')),
      h('div', { class: 'net' }, source, lanes), nothing), aside))

  function draw() {
    const mux = store.muxes.get(key)
    if (!mux) return
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean)
    const fits = (c) => (only.size === 0 || only.has(c.state)) && words.every((word) => textOf(c).includes(word))
    const all = [...mux.channels.values()]
    const shown = all.filter(fits)
    const on = shown.filter((c) => attached.has(c.state)).sort(byPort)
    const off = shown.filter((c) => !attached.has(c.state)).sort(byKey)
    keyed(lanes, on, (c) => c.key, (c) => c.text, lane)
    keyed(refused, off, (c) => c.key, (c) => c.text, refusal)
    aside.hidden = off.length === 0
    const listeners = all.filter(claimantKind).length
    const total = claimants(all.length - listeners, listeners)
    found.textContent = shown.length === all.length ? total : `${shown.length} of ${total}`
    holders.textContent = listeners ? 'Channel or listener' : 'Channel'
    nothing.hidden = on.length > 0
    nothing.textContent = all.length === 0 ? 'No Service names this mux yet.' : off.length ? 'None of these has a port on the mux.' : 'No channel matches.'
    drawFilters(mux.head.counts)
  }

  function drawFilters(counts) {
    const names = Object.keys(channelStates).filter((name) => counts[name] || only.has(name))
    fill(filters, JSON.stringify([names.map((name) => [name, counts[name]]), [...only]]), () => names.map((name) => h('button', {
      type: 'button', 'aria-pressed': String(only.has(name)), data: { tone: channelStates[name].tone, focus: name },
      onclick: () => { only.has(name) ? only.delete(name) : only.add(name); draw() },
    }, h('span', { class: 'sign', 'aria-hidden': 'true' }, channelStates[name].sign), ` ${channelStates[name].word} ${counts[name] ?? 0}`)))
  }

  return {
    title: key,
    close: traffic.close,
    update(changes) {
      const mux = store.muxes.get(key)
      if (!mux) {
        fill(head, 'gone', () => [h('h1', {}, key), h('p', { class: 'banner off' }, 'There is no such mux, and no Service names it.')])
        for (const part of [about, numbers, source, lanes, refused, filters]) { part.replaceChildren(); part.kept = part.signature = undefined }
        aside.hidden = numbers.hidden = true
        return
      }
      if (!changes.some((c) => c.all || c.mux === key)) return
      const { head: is } = mux
      fill(head, JSON.stringify([is.state, is.addresses, is.reason, is.message, is.failed]), () => heading(is))
      fill(about, JSON.stringify([is.settings, is.carriedBy, is.usage, is.ledger, is.notes, is.pending, is.gateway]), () => aboutMux(is))
      numbers.hidden = is.state === 'missing'
      fill(numbers, JSON.stringify([is.slots, is.ranges]), () => [h('h2', {}, 'Numbers'), ...strip(is)])
      fill(source, JSON.stringify(is.addresses), () => h('div', { class: 'node' }, (is.addresses.length ? is.addresses : ['no address']).map((a) => h('span', {}, a))))
      draw()
    },
  }
}

function heading(mux) {
  return [
    h('div', { class: 'title' }, h('h1', {}, muxName(mux)), badge(muxStates, mux.state)),
    mux.message && h('p', { class: 'banner ' + state(muxStates, mux.state).tone }, mux.reason && h('b', {}, mux.reason), ' ', mux.message),
    mux.failed && h('p', { class: 'banner bad' }, h('b', {}, 'The last pass failed: '), mux.failed),
  ]
}

function aboutMux(mux) {
  const s = mux.settings, u = mux.usage
  const facts = [
    ['Ports', `${u.held + u.foreign} of ${u.limit.toLocaleString('en')}`], ['Numbers free', `${u.rangeFree} of ${u.rangeSize}`], ['In grace', u.inGrace || ''],
    ['Gateway', mux.gateway?.name], ['Provider', s.provider || s.class], ['Carried by', mux.carriedBy], ['port-range', s.portRange], ['explicit-range', s.explicitRange === '1-65535' ? '' : s.explicitRange],
    ['Namespaces', s.allowedNamespaces], ['Protocols', s.allowedProtocols], ['Per namespace', s.maxPortsPerNamespace], ['release-grace', s.releaseGrace],
    ['Ledger', mux.ledger.name && `${mux.ledger.name}, ${mux.ledger.state}, generation ${mux.ledger.generation}`],
  ].filter(([, value]) => value !== undefined && value !== '' && value !== 0)
  return [
    mux.state !== 'missing' && h('dl', { class: 'facts' }, facts.map(([name, value]) => h('div', {}, h('dt', {}, name), h('dd', {}, String(value))))),
    mux.notes.length > 0 && h('ul', { class: 'notes', 'aria-label': 'Notes about the mux' }, mux.notes.map(note)),
    // Always shown: an element that comes and goes with each pass would move everything below it.
    mux.state !== 'missing' && h('details', { class: 'pending' }, h('summary', {}, mux.pending.length ? count(mux.pending.length, 'write') + ' to come' : 'No write to come'),
      mux.pending.length > 0 && h('ol', {}, mux.pending.map((step) => h('li', {}, `${step.verb} ${step.object}: ${step.why.join('; ')}`)))),
  ]
}

const routesText = (c) => (c.listener?.routes ?? []).map((r) => `${r.kind} ${r.name}`)
const textOf = (c) => c.search ??= [c.key, c.listener?.gateway, ...routesText(c), claimantKind(c), c.reason, c.message, c.state, channelStates[c.state]?.word, ...c.ports.flatMap((p) => [p.name, p.public ? numbersText(p.public, p.last) : p.request, p.protocol]), ...(c.hostnames ?? [])].join(' ').toLowerCase()
const byKey = (a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0)
const firstPort = (c) => c.first ??= Math.min(...c.ports.map((p) => p.public || 65536))
const byPort = (a, b) => firstPort(a) - firstPort(b) || byKey(a, b)

function lane(c) {
  const is = state(channelStates, c.state)
  return h('li', { class: 'lane', data: { tone: is.tone } },
    h('div', { class: 'pins' }, c.ports.map((p) => h('span', { class: p.live ? 'pin' : 'pin missing', title: p.public ? `${p.name}: ${p.source}${p.live ? '' : ', not on the mux'}` : `${p.name}: has no number` },
      h('b', {}, p.public ? numbersText(p.public, p.last) : '–'), h('small', {}, p.protocol)))),
    h('div', { class: 'chan' }, claimant(c),
      h('span', { class: 'says' }, h('span', { class: 'sign', 'aria-hidden': 'true' }, is.sign), ' ', is.word),
      !c.accepted && h('span', { class: 'why' }, h('b', {}, c.reason), ' ', c.message),
      c.listener && h('span', { class: 'routes' }, routes(c.listener))),
    backends(c))
}

function claimant(c) {
  const kind = claimantKind(c)
  return h('span', { class: 'who' }, kind && h('span', { class: 'kind' }, kind), kind && ' ', h('a', { href: serviceLink(c.key), data: { focus: c.key } }, claimantName(c)))
}

function backends(c) {
  const { ready, total, reason } = c.backends
  const label = total ? `${ready} of ${count(total, 'backend')} ready` : 'no backends'
  return h('div', { class: 'backs', title: reason ?? '' },
    total > 0 && total <= dots && h('span', { class: 'dots', 'aria-hidden': 'true' }, Array.from({ length: total }, (_, i) => h('i', { class: i < ready ? 'up' : '' }))),
    h('span', {}, label), reason && reason !== 'NoBackends' && h('small', {}, reason))
}

function refusal(c) {
  const is = state(channelStates, c.state)
  return h('li', { data: { tone: is.tone } },
    h('div', {}, claimant(c), c.listener && h('small', { class: 'muted' }, `${c.ports[0].port}/${c.ports[0].protocol}`), badge(channelStates, c.state)),
    h('p', {}, h('b', {}, c.reason), ' ', c.message))
}
