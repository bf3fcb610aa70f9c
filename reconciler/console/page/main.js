// The frame: it selects the page to show, and fills the header and footer.

import { fill, h, tick } from './dom.js'
import { Store, ask } from './store.js'
import { overview } from './overview.js'
import { muxPage } from './mux.js'
import { servicePage } from './service.js'
import { timelinePage } from './timeline.js'

const main = document.getElementById('main')
const store = new Store((change) => { changes.push(change); schedule() })
const app = { store, config: {} }
const changes = []
let page = null
let due = false
let interactive = false // set once, for performance measurements

// schedule draws changes that arrive together once.
function schedule() {
  if (due) return
  due = true
  requestAnimationFrame(() => {
    due = false
    const news = changes.splice(0)
    frame()
    if (store.ready) {
      if (!page) route()
      else page.update(news)
    }
  })
}

function route() {
  const [name, ...rest] = location.hash.replace(/^#\/?/, '').split('/').map(decode)
  if (!store.ready) return
  page?.close?.()
  main.replaceChildren()
  const pages = {
    '': () => overview(app, main), mux: () => muxPage(app, main, rest.join('/')),
    service: () => servicePage(app, main, rest.join('/')), timeline: () => timelinePage(app, main),
  }
  page = (Object.hasOwn(pages, name) ? pages[name] : pages[''])()
  page.update([{ all: true }])
  document.title = page.title + ' · svc-lb-mux'
  if (!interactive) { interactive = true; performance.mark('svc-lb-mux: interactive') }
  const current = name === 'timeline' || name === 'service' ? name : 'overview'
  for (const link of document.querySelectorAll('nav a')) {
    if (link.dataset.page === current) link.setAttribute('aria-current', 'page')
    else link.removeAttribute('aria-current')
  }
}

function decode(part) {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}

// frame shows whether the content is current.
function frame() {
  const live = document.getElementById('live'), lost = document.getElementById('lost')
  const words = { connecting: 'connecting', live: 'live', lost: 'reconnecting' }
  if (live.dataset.state !== store.state) {
    live.dataset.state = store.state
    live.textContent = words[store.state]
  }
  lost.hidden = store.state !== 'lost'
  const text = store.ready ? 'The stream is lost: this page shows the last known state. Connecting again …' : 'The reconciler doesn\'t answer yet. Connecting again …'
  if (!lost.hidden && lost.textContent !== text) lost.textContent = text
  const process = store.process
  if (!process) return
  fill(document.getElementById('leader'), JSON.stringify([process.leader, process.dryRun]), () => [
    process.dryRun ? 'dry run' : process.leader ? 'leads' : 'follows: shows what it sees, writes nothing'])
  document.getElementById('leader').dataset.tone = process.leader && !process.dryRun ? 'ok' : 'warn'
  fill(document.getElementById('foot'), JSON.stringify([process.name, process.version, app.config]), () => [
    h('span', {}, process.name), h('span', {}, 'version ', process.version),
    h('span', {}, app.config.testTCP ? 'actions are allowed' : 'read-only'),
    h('a', { href: 'api/state' }, 'JSON')])
}

document.getElementById('skip').addEventListener('click', (event) => {
  event.preventDefault() // the hash selects the page, so it must not change
  main.focus()
})
document.addEventListener('keydown', (event) => {
  const typing = event.target instanceof HTMLInputElement
  if (event.key === '/' && !typing && !event.ctrlKey && !event.metaKey && !event.altKey) {
    const search = main.querySelector('input[type=search]')
    if (search) { event.preventDefault(); search.focus(); search.select() }
  }
  if (event.key === 'Escape' && typing && event.target.type === 'search') event.target.blur()
})
window.addEventListener('hashchange', () => { route(); window.scrollTo(0, 0); main.focus({ preventScroll: true }) })
setInterval(tick, 5000)
ask('api/config').then((config) => { app.config = config; schedule() }, () => {})
store.open()
