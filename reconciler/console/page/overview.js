// Every mux as a card, and the state of admission.

import { ago, count, fill, h, keyed, muxLink } from './dom.js'
import { badge, bar } from './parts.js'
import { channelStates, muxName, muxStates, state } from './words.js'

export function overview({ store }, root) {
  const guard = h('section', { class: 'guard', 'aria-label': 'Admission' })
  const cards = h('ul', { class: 'cards', 'aria-label': 'Muxes' })
  const empty = h('div', { class: 'empty', hidden: true }, h('p', {}, 'There is no mux yet, and no Service that names one.'),
    h('p', { class: 'muted' }, 'A mux is a Service of type LoadBalancer with the annotation multiplexer: "true".'))
  root.append(h('h1', {}, 'Overview'), guard, cards, empty)
  return {
    title: 'Overview',
    update() {
      const admission = store.process?.admission
      fill(guard, JSON.stringify(admission ?? null), () => admissionLine(admission))
      const last = lastChanges(store)
      keyed(cards, store.sorted(), (mux) => mux.key, (mux) => mux.text + (last.get(mux.key)?.text ?? ''), (mux) => card(mux, last.get(mux.key)))
      empty.hidden = store.muxes.size > 0
    },
  }
}

// lastChanges returns the newest decision about each mux.
function lastChanges(store) {
  const last = new Map()
  for (const entry of store.newest()) if (entry.kind === 'decision' && !last.has(entry.mux)) last.set(entry.mux, entry)
  return last
}

function admissionLine(admission) {
  if (!admission) return h('p', { class: 'banner off' }, h('b', {}, 'Admission isn\'t watched'), ' by this process.')
  if (!admission.known) return h('p', { class: 'banner off' }, 'Admission: not checked yet.')
  const expires = admission.expires && h('span', { class: 'muted' }, ' The certificate expires ', ago(admission.expires), '.')
  const tone = !admission.onGuard ? 'bad' : admission.faults.length ? 'warn' : 'ok'
  return h('div', { class: 'banner ' + tone },
    h('b', {}, admission.onGuard ? '✓ Admission is on guard.' : '✕ Admission is off guard.'), expires,
    admission.faults.length > 0 && h('ul', {}, admission.faults.map((f) => h('li', {}, h('b', {}, f.reason), ' ', f.message))))
}

function card({ head: mux, key }, last) {
  const { held, inGrace, foreign, limit, rangeSize, rangeFree } = mux.usage
  const channels = Object.values(mux.counts).reduce((a, b) => a + b, 0), listeners = mux.gateway?.listeners ?? 0
  const inUse = rangeSize - rangeFree
  return h('li', { class: 'card', data: { tone: state(muxStates, mux.state).tone } },
    h('div', { class: 'title' }, h('h2', {}, h('a', { href: muxLink(key), data: { focus: key } }, muxName(mux))), badge(muxStates, mux.state)),
    h('p', { class: 'address' }, mux.addresses.length ? mux.addresses.join(', ') : h('span', { class: 'muted' }, 'no address')),
    mux.message && h('p', { class: 'message' }, mux.reason && h('b', {}, mux.reason), ' ', mux.message),
    mux.state !== 'missing' && [
      h('div', { class: 'figure' }, h('span', {}, 'Ports'), h('span', {}, `${held + foreign} of ${limit.toLocaleString('en')}`, inGrace > 0 && `, ${inGrace} more in grace`)),
      bar(`${held} ports held and ${foreign} foreign, of at most ${limit}`, limit, [['held', held], ['foreign', foreign]]),
      rangeSize > 0 && [
        h('div', { class: 'figure' }, h('span', {}, 'Numbers for auto'), h('span', {}, `${inUse} of ${rangeSize.toLocaleString('en')} used`)),
        bar(`${inUse} numbers of ${rangeSize} in the range are used`, rangeSize, [['held', inUse]]),
      ],
    ],
    mux.gateway?.name && h('div', { class: 'figure' }, h('span', {}, 'Gateway'), h('span', {}, mux.gateway.name)),
    h('div', { class: 'figure' }, h('span', {}, listeners ? 'Channels and listeners' : 'Channels'),
      h('span', {}, (channels - listeners).toLocaleString('en'), listeners > 0 && ' and ' + listeners.toLocaleString('en'))),
    channels > 0 && bar((listeners ? 'Channels and listeners' : 'Channels') + ' by state: ' + countsText(mux.counts), channels, tones(mux.counts)),
    channels > 0 && h('p', { class: 'counts' }, Object.keys(channelStates).filter((name) => mux.counts[name]).map((name) =>
      h('span', { data: { tone: channelStates[name].tone } }, h('span', { class: 'sign', 'aria-hidden': 'true' }, channelStates[name].sign), ` ${mux.counts[name]} ${channelStates[name].word}`))),
    h('p', { class: 'last muted' }, last ? ['Last change ', ago(last.at), ': ', count(last.writes, 'write'), last.done ? '' : ', not carried out yet'] :
      mux.passed ? ['Last pass ', ago(mux.passed)] : 'No pass by this process yet'),
    mux.failed && h('p', { class: 'message', data: { tone: 'bad' } }, mux.failed))
}

const countsText = (counts) => Object.keys(channelStates).filter((name) => counts[name]).map((name) => `${counts[name]} ${channelStates[name].word}`).join(', ')

function tones(counts) {
  const sums = { ok: 0, warn: 0, bad: 0, off: 0 }
  for (const [name, n] of Object.entries(counts)) sums[state(channelStates, name).tone] += n
  return Object.entries(sums)
}
