// The traffic of a mux on gateways: what they counted for their busiest ports. It doesn't come with the stream, for it changes all the time.

import { fill, h, serviceLink } from './dom.js'
import { numbersText } from './parts.js'
import { ask } from './store.js'

const pause = 10000 // the gateways count every 10 s
const most = 10

export function trafficPanel(app, key) {
  const panel = h('section', { class: 'panel traffic', 'aria-label': 'Traffic', hidden: true })
  let timer, closed = false
  async function look() {
    clearTimeout(timer)
    if (app.config.traffic && app.store.muxes.get(key)?.head.carriedBy) {
      try {
        const ports = (await ask('api/traffic')).ports.filter((p) => p.mux === key)
        panel.hidden = ports.length === 0
        fill(panel, JSON.stringify(ports), () => table(ports))
      } catch { /* the page says if the reconciler doesn't answer */ }
    }
    const known = app.config.traffic !== undefined // the answer of api/config may be under way
    if (!closed) timer = setTimeout(look, known ? pause : 200)
  }
  look()
  return { panel, close() { closed = true; clearTimeout(timer) } }
}

function table(ports) {
  const shown = ports.slice(0, most)
  return [
    h('h2', {}, 'Busiest ports'),
    h('table', {},
      h('thead', {}, h('tr', {}, ['Port', 'Channel', 'Bytes/s', 'Packets/s', 'Connections/s', 'Bytes', 'Connections'].map((title) => h('th', { scope: 'col' }, title)))),
      h('tbody', {}, shown.map((p) => h('tr', {},
        h('td', {}, `${numbersText(p.number, p.last)}/${p.protocol}`),
        h('td', {}, p.channel ? h('a', { href: serviceLink(p.channel), data: { focus: p.channel + p.number } }, p.channel) : 'of the mux'),
        [bytes(p.perSecond.bytes), rate(p.perSecond.packets), rate(p.perSecond.connections), bytes(p.total.bytes), p.total.connections.toLocaleString('en')]
          .map((text) => h('td', { class: 'amount' }, text)))))),
    ports.length > most && h('p', { class: 'muted' }, `and ${ports.length - most} more in api/traffic`),
  ]
}

const rate = (n) => n.toLocaleString('en', { maximumFractionDigits: n < 10 ? 1 : 0 })

function bytes(n) {
  const units = ['B', 'kB', 'MB', 'GB', 'TB', 'PB']
  let at = 0
  for (; n >= 1000 && at < units.length - 1; at++) n /= 1000
  return rate(n) + ' ' + units[at]
}
