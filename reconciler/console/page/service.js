// One Service: the chain from its class to its backends. A broken link shows its reason and the way out. This page
// answers "why not?", so it takes any Service.

import { count, fill, h, muxLink, serviceLink } from './dom.js'
import { ask } from './store.js'
import { badge, numbersText, routes } from './parts.js'
import { channelStates, linkStates, state } from './words.js'

const titles = { service: 'Service', listener: 'Listener', route: 'Route', class: 'Class', admission: 'Admission', mux: 'Mux', claim: 'Claim', port: 'Port', address: 'Address', slices: 'Slices', backends: 'Backends' }
const again = 1000 // how often to ask again: the stream doesn't report every Service

export function servicePage(app, root, key) {
  const known = h('datalist', { id: 'channels' })
  const field = h('input', { type: 'search', name: 'service', list: 'channels', value: key, placeholder: 'namespace/name', 'aria-label': 'Service, as namespace/name', autocomplete: 'off', spellcheck: 'false' })
  const form = h('form', { class: 'ask', onsubmit: (event) => {
    event.preventDefault()
    if (field.value.includes('/')) location.hash = serviceLink(field.value.trim())
    else fill(answer, 'half', () => h('p', { class: 'banner warn' }, 'Write the namespace too, as namespace/name.'))
  } }, field, known, h('button', { type: 'submit' }, 'Look'))
  const answer = h('div', { class: 'answer' })
  root.append(h('h1', {}, key ? 'Why, or why not' : 'Why not?'), h('p', { class: 'muted' }, 'Any Service, or a listener of a Gateway: how it is reached through its mux, or what prevents that.'), form, answer)
  let closed = false, timer, asking = false, missed = false, mux

  async function look() {
    if (!key || closed) return
    if (asking) { missed = true; return }
    asking = true
    clearTimeout(timer)
    if (document.hidden) { asking = false; timer = setTimeout(look, again); return }
    try {
      const chain = await ask('api/why?service=' + encodeURIComponent(key))
      mux = chain.mux
      if (!closed) fill(answer, JSON.stringify([chain, app.config]), () => show(chain, app))
    } catch (error) {
      if (!closed) fill(answer, 'failed' + error.message, () => h('p', { class: 'banner bad' }, error.message))
    }
    asking = false
    if (closed) return
    if (missed) { missed = false; look() } else timer = setTimeout(look, again)
  }

  return {
    title: key || 'Why not?',
    update(changes) {
      if (changes.some((c) => c.all || c.mux !== undefined && (!mux || c.mux === mux))) look()
      const keys = app.store.sorted().flatMap((m) => [...m.channels.keys()]).slice(0, 200)
      fill(known, keys.join(), () => keys.map((k) => h('option', { value: k })))
    },
    close() { closed = true; clearTimeout(timer) },
  }
}

function show(chain, app) {
  const key = chain.namespace + '/' + chain.name
  const kinds = { channel: 'channel', mux: 'mux', stranger: 'not a channel', both: 'mux and channel', absent: 'missing' }
  return [
    h('div', { class: 'title' }, h('h2', {}, key), chain.channel ? badge(channelStates, chain.channel.state)
      : h('span', { class: 'badge', data: { tone: chain.kind === 'mux' ? 'ok' : 'off' } }, kinds[chain.kind] ?? chain.kind)),
    chain.mux && h('p', {}, chain.kind === 'mux' ? h('a', { href: muxLink(chain.mux) }, 'See the mux') : ['On the mux ', h('a', { href: muxLink(chain.mux) }, chain.mux)]),
    h('ol', { class: 'chain', 'aria-label': chain.kind === 'listener' ? 'From the listener to its backends' : 'From the Service to its backends' }, chain.links.map(link)),
    chain.tracks?.length > 0 && tracks(chain, app),
    chain.channel?.listener && h('section', { class: 'panel' }, h('h2', {}, 'Routes'), h('div', { class: 'routes' }, routes(chain.channel.listener))),
    chain.conditions?.length > 0 && h('section', { class: 'panel' }, h('h2', {}, 'Conditions in the cluster'), h('ul', { class: 'said' }, chain.conditions.map((c) =>
      h('li', {}, h('b', {}, c.type), ` ${c.status}, ${c.reason}: `, c.message)))),
    chain.warnings?.length > 0 && h('section', { class: 'panel' }, h('h2', {}, 'Warnings'), h('ul', { class: 'notes' }, chain.warnings.map((w) =>
      h('li', { data: { tone: 'warn' } }, h('b', {}, w.reason), ' ', w.message)))),
  ]
}

function link(is) {
  const look = state(linkStates, is.state)
  return h('li', { data: { tone: look.tone, link: is.name } },
    h('span', { class: 'knot', 'aria-hidden': 'true' }, look.sign),
    h('div', {}, h('h3', {}, titles[is.name] ?? is.name, h('span', { class: 'word' }, ' ', look.word)),
      (is.reason || is.text) && h('p', {}, is.reason && h('b', {}, is.reason, ' '), is.text),
      is.mend && h('p', { class: 'mend' }, h('b', {}, 'Way out '), is.mend)))
}

function tracks(chain, app) {
  return h('section', { class: 'panel' }, h('h2', {}, 'Ports and backends'), chain.tracks.map((track) => h('div', { class: 'track' },
    h('h3', {}, `${track.port}: ${numbersText(track.number, track.last)}/${track.protocol}`),
    app.config.testTCP && track.protocol === 'TCP' && h('p', {}, (chain.shows ?? []).map((address) => trial(address, track.number))),
    track.backends.length === 0 ? h('p', { class: 'muted' }, 'no backends') : h('table', {},
      h('caption', { class: 'quiet' }, `Backends of ${track.port}`),
      h('thead', {}, h('tr', {}, ['Address', 'Ready', 'Pod', 'Node', app.config.testTCP && 'Try'].filter(Boolean).map((name) => h('th', { scope: 'col' }, name)))),
      h('tbody', {}, track.backends.slice(0, 100).map((b) => h('tr', {}, h('td', {}, b.address + ' : ' + b.port),
        h('td', {}, h('span', { class: 'badge', data: { tone: b.ready ? 'ok' : 'warn' } }, b.ready ? '✓ ready' : '! not ready')),
        h('td', {}, b.pod ?? ''), h('td', {}, b.node ?? ''), app.config.testTCP && h('td', {}, track.protocol === 'TCP' && trial(b.address, b.port)))))),
    track.backends.length > 100 && h('p', { class: 'muted' }, `and ${count(track.backends.length - 100, 'more backend')}`))))
}

// trial returns a button that makes the reconciler open a connection.
function trial(address, port) {
  const result = h('span', { role: 'status' })
  return h('span', { class: 'trial' }, h('button', { type: 'button', 'aria-label': `Connect to ${address}, port ${port}`, onclick: async () => {
    result.textContent = 'connecting …'
    try {
      const got = await ask('api/test-tcp', { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ address, port }) })
      result.textContent = got.connected ? `connected in ${got.took}` : got.error
    } catch (error) {
      result.textContent = error.message
    }
  } }, `Connect to ${address}`), ' ', result)
}
