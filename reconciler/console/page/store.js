// The known state. It comes from one stream, which is opened again whenever it is lost.

const silence = 8000 // without a beat for so long, the stream counts as lost, whatever the connection's state
const pauses = [500, 1000, 2000, 5000]

export class Store {
  process = null
  muxes = new Map() // by namespace/name: {head, channels}
  timeline = new Map() // by id
  state = 'connecting' // live, lost
  ready = false

  #notify
  #source
  #watchdog
  #tries = 0
  #seen

  constructor(notify) {
    this.#notify = notify
  }

  open() {
    clearTimeout(this.#watchdog)
    this.#source?.close()
    this.#seen = new Set()
    const source = new EventSource(here('api/stream'))
    this.#source = source
    const on = (name, take) => source.addEventListener(name, (event) => {
      if (source !== this.#source) return
      this.#alive()
      take(JSON.parse(event.data))
    })
    on('process', (process) => { this.process = process; this.#notify({ process: true }) })
    on('mux', (difference) => this.#mux(difference))
    on('gone', ({ mux }) => { this.muxes.delete(mux); this.#notify({ mux }) })
    on('timeline', (entries) => this.#entries(entries))
    on('ready', () => this.#ready())
    on('beat', () => {})
    source.onerror = () => { if (source === this.#source) this.#lost() }
    this.#alive()
  }

  #alive() {
    clearTimeout(this.#watchdog)
    this.#watchdog = setTimeout(() => this.#lost(), silence)
  }

  #lost() {
    this.#source?.close()
    this.#source = null
    clearTimeout(this.#watchdog)
    this.#set('lost')
    setTimeout(() => this.open(), pauses[Math.min(this.#tries++, pauses.length - 1)])
  }

  #set(state) {
    if (this.state === state) return
    this.state = state
    this.#notify({ state: true })
  }

  #mux({ mux: head, whole, changed, removed }) {
    const key = head.namespace + '/' + head.name
    this.#seen.add(key)
    const last = this.muxes.get(key)
    const before = last?.channels ?? new Map()
    const channels = whole ? new Map() : before
    for (const channel of changed) {
      channel.key = channel.namespace + '/' + channel.name
      channel.text = JSON.stringify(channel)
      channels.set(channel.key, channel)
    }
    for (const name of removed) channels.delete(name)
    this.muxes.set(key, { key, head, channels, text: JSON.stringify(head) })
    this.#notify({ mux: key })
  }

  #entries(entries) {
    for (const entry of entries) this.timeline.set(entry.id, { ...entry, text: JSON.stringify(entry) })
    const surplus = this.timeline.size - 500
    if (surplus > 0) for (const id of [...this.timeline.keys()].sort((a, b) => a - b).slice(0, surplus)) this.timeline.delete(id)
    this.#notify({ timeline: true })
  }

  // Removes muxes that this stream hasn't reported.
  #ready() {
    for (const key of this.muxes.keys()) if (!this.#seen.has(key)) this.muxes.delete(key)
    this.#tries = 0
    this.ready = true
    this.#set('live')
    this.#notify({ all: true })
  }

  sorted() {
    return [...this.muxes.values()].sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0))
  }

  // newest returns the timeline's entries, the newest first.
  newest() {
    return [...this.timeline.values()].sort((a, b) => b.id - a.id)
  }
}

// here returns a URL relative to this page, without the user and password of the page's own URL, which fetch would
// refuse.
const here = (path) => new URL(path, location.origin + location.pathname)

// ask requests JSON, apart from the stream.
export async function ask(path, options) {
  const answer = await fetch(here(path), options)
  if (!answer.ok) throw new Error((await answer.text()).trim() || answer.statusText)
  return answer.json()
}
