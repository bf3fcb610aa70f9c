// Parts that several pages use.

import { h, count, serviceLink } from './dom.js'
import { muxName, slotStates, state } from './words.js'

export function badge(table, name) {
  const is = state(table, name)
  return h('span', { class: 'badge', data: { tone: is.tone } }, h('span', { class: 'sign', 'aria-hidden': 'true' }, is.sign), ' ', is.word)
}

// bar shows parts of a whole. Its label describes it in words.
export function bar(label, whole, parts) {
  return h('div', { class: 'bar', role: 'img', 'aria-label': label }, parts.filter(([, n]) => n > 0).map(([tone, n]) =>
    h('span', { data: { tone }, style: { width: Math.max(100 * n / Math.max(whole, 1), 0.8) + '%' } })))
}

// claimantName names a channel by its Service, and a listener by its Gateway or ListenerSet. The names of listeners that aren't known stay whole.
export function claimantName(c) {
  const l = c.listener
  if (!l) return [h('small', {}, c.namespace, '/'), c.name]
  const [namespace, name] = (l.listenerSet || l.gateway).split('/')
  return [h('small', {}, namespace, '/'), name, h('small', {}, ' › '), l.name]
}

// claimantKind says what a listener is; nothing for a channel.
export function claimantKind(c) {
  if (c.listener) return c.listener.listenerSet ? 'ListenerSet' : 'Gateway'
  return c.name.includes('/') ? 'listener' : ''
}

// claimants counts channels and listeners.
export function claimants(channels, listeners) {
  if (listeners === 0) return count(channels, 'channel')
  return channels === 0 ? count(listeners, 'listener') : `${count(channels, 'channel')}, ${count(listeners, 'listener')}`
}

// routes are those of a listener, the one that it carries first.
export function routes(l) {
  if (l.routes.length === 0) return [h('span', { class: 'muted' }, 'no route')]
  return [...l.routes].sort((a, b) => b.carried - a.carried).slice(0, 3).map(route).concat(l.routes.length > 3 ? h('span', { class: 'muted' }, `and ${l.routes.length - 3} more`) : [])
}

// route is a route with what is wrong with it. An accepted route whose listener carries an older one waits.
function route(r) {
  const faults = r.conditions.filter((c) => c.status === 'False')
  const waits = !r.carried && r.conditions.find((c) => c.type === 'Accepted' && c.status === 'True')
  return h('span', { class: 'route', data: { tone: faults.length ? 'warn' : waits ? 'off' : 'ok' } },
    h('span', {}, h('small', {}, r.kind, ' '), r.name, waits && h('small', {}, ' waits')),
    waits && h('span', { class: 'fault' }, waits.message),
    faults.map((c) => h('span', { class: 'fault' }, h('b', {}, c.reason), ' ', c.message)))
}

export function note(is) {
  return h('li', { data: { tone: is.warning ? 'warn' : 'off' } }, h('b', {}, is.reason), ' ', is.message)
}

const order = ['held', 'withheld', 'releasing', 'grace', 'foreign']

// numbersText is the number of a port, or its range.
export function numbersText(first, last) { return last > first ? `${first}-${last}` : `${first}` }

// byNumber groups slots of one number with several protocols. A range is at each of its numbers.
function byNumber(slots) {
  const numbers = new Map()
  for (const slot of slots) {
    for (let n = slot.number; n <= (slot.last ?? slot.number); n++) {
      const there = numbers.get(n)
      if (there) there.push(slot)
      else numbers.set(n, [slot])
    }
  }
  for (const list of numbers.values()) list.sort((a, b) => order.indexOf(a.state) - order.indexOf(b.state))
  return numbers
}

function slotText(number, slots) {
  if (!slots) return `${number} is free`
  return slots.map((s) => `${numbersText(s.number, s.last)}/${s.protocol} ${slotStates[s.state] ?? s.state}` +
    (s.channel ? ` by ${s.channel} (${s.port})` : s.port ? ` (${s.port})` : '') +
    (s.until ? ` until ${new Date(s.until).toLocaleTimeString()}` : '')).join('; ')
}

// strip draws the mux's numbers: its range, number by number, and the numbers outside of it.
export function strip(mux) {
  const numbers = byNumber(mux.slots)
  const inside = (n) => mux.ranges.some((r) => n >= r.first && n <= r.last)
  const outside = mux.slots.filter((s) => !inside(s.number) || !inside(s.last ?? s.number))
  return [
    mux.ranges.map((range) => rangeStrip(range, numbers, muxName(mux))),
    mux.ranges.length === 0 && h('p', { class: 'muted' }, 'The mux has no port-range, so a channel can\'t get a number by auto.'),
    outside.length > 0 && h('div', { class: 'outside' }, h('span', { class: 'muted' }, 'outside the range '),
      outside.slice(0, 24).map(chip),
      outside.length > 24 && h('span', { class: 'muted' }, ` and ${outside.length - 24} more`)),
    h('ul', { class: 'legend', 'aria-label': 'What the colours mean' }, ['held', 'withheld', 'releasing', 'grace', 'foreign', 'free']
      .filter((name) => name === 'free' ? mux.ranges.length > 0 : mux.slots.some((s) => s.state === name))
      .map((name) => h('li', {}, h('i', { data: { slot: name } }), slotStates[name]))),
  ]
}

function chip(slot) {
  const text = `${numbersText(slot.number, slot.last)}/${slot.protocol}`
  const title = slotText(slot.number, [slot])
  return slot.channel ? h('a', { class: 'slot', href: serviceLink(slot.channel), title, 'aria-label': title, data: { slot: slot.state } }, text)
    : h('span', { class: 'slot', title, data: { slot: slot.state } }, text, slot.port && ' ' + slot.port)
}

// places are the last selected numbers: a strip that is drawn again after a change keeps its selection.
const places = new Map()

// rangeStrip is also a slider: arrow keys move through the numbers, and Enter opens the channel of one.
function rangeStrip(range, numbers, mux) {
  const place = mux + ' ' + range.first
  const size = range.last - range.first + 1
  const taken = [...numbers.keys()].filter((n) => n >= range.first && n <= range.last)
  const each = size <= 400
  const drawing = h('svg', { viewBox: `0 0 ${size} 10`, preserveAspectRatio: 'none', 'aria-hidden': 'true' }, runs(taken.sort((a, b) => a - b), numbers, each)
    .map(({ from, to, state }) => h('rect', { x: from - range.first + (each ? 0.08 : 0), y: 0, width: to - from + (each ? 0.84 : 1), height: 10, data: { slot: state } })))
  const mark = h('i', { class: 'mark', hidden: true })
  const readout = h('output', { class: 'readout' }, count(size - taken.length, 'number') + ' free')
  const slider = h('div', {
    class: 'range', role: 'slider', tabindex: 0, 'aria-label': `Numbers ${range.first} to ${range.last}`, 'aria-valuemin': range.first,
    'aria-valuemax': range.last, 'aria-valuenow': range.first, 'aria-valuetext': slotText(range.first, numbers.get(range.first)),
    data: { focus: 'range' + range.first },
  }, drawing, mark)
  let at = range.first
  const show = (n) => {
    at = Math.min(Math.max(n, range.first), range.last)
    places.set(place, at)
    const text = slotText(at, numbers.get(at))
    slider.setAttribute('aria-valuenow', at)
    slider.setAttribute('aria-valuetext', text)
    readout.textContent = text
    mark.hidden = false
    mark.style.setProperty('left', 100 * (at - range.first + 0.5) / size + '%')
  }
  const go = () => { const slot = numbers.get(at)?.[0]; if (slot?.channel) location.hash = serviceLink(slot.channel) }
  slider.addEventListener('pointermove', (event) => {
    const box = slider.getBoundingClientRect()
    show(range.first + Math.floor(size * (event.clientX - box.left) / box.width))
  })
  slider.addEventListener('click', go)
  slider.addEventListener('keydown', (event) => {
    const steps = { ArrowLeft: -1, ArrowRight: 1, ArrowDown: -1, ArrowUp: 1, PageDown: -10, PageUp: 10, Home: -size, End: size }
    if (event.key === 'Enter') go()
    else if (event.key in steps) { event.preventDefault(); show(at + steps[event.key]) }
  })
  if (places.has(place)) show(places.get(place))
  return h('div', { class: 'strip' }, h('div', { class: 'ends' }, h('span', {}, range.first), readout, h('span', {}, range.last)), slider)
}

// runs joins adjacent numbers of one state, if there are too many numbers to show each.
function runs(taken, numbers, each) {
  const list = []
  for (const n of taken) {
    const state = numbers.get(n)[0].state, last = list.at(-1)
    if (!each && last && last.to === n - 1 && last.state === state) last.to = n
    else list.push({ from: n, to: n, state })
  }
  return list
}
