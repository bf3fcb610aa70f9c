// Everything here is an extra: without it, all pages can be read and reached.
'use strict'

const root = document.documentElement

// remembered reads and writes the reader's choice. Some browsers refuse storage for local files.
const remembered = {
  get theme() { try { return localStorage.getItem('theme') } catch { return null } },
  set theme(name) { try { localStorage.setItem('theme', name) } catch { /* the choice lasts for this page */ } },
}

// The theme is set before the page is painted, so that a dark page doesn't flash.
if (['dark', 'light'].includes(remembered.theme)) root.dataset.theme = remembered.theme

const isDark = () => (root.dataset.theme ?? (matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light')) === 'dark'

function startTheme() {
  const button = document.getElementById('site-theme')
  const show = () => button.setAttribute('aria-pressed', String(isDark()))
  button.hidden = false
  button.addEventListener('click', () => {
    remembered.theme = root.dataset.theme = isDark() ? 'light' : 'dark'
    show()
  })
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', show)
  show()
}

// startVersions replaces the name of the version with a menu of all versions beside it. versions.js sets siteVersions:
// name, folder and pages of each version, the newest first.
function startVersions() {
  const here = document.getElementById('site-version')
  const versions = window.siteVersions ?? []
  if (versions.length < 2) return
  const menu = document.createElement('select')
  menu.id = 'site-version'
  menu.className = 'version'
  menu.setAttribute('aria-label', 'Version')
  for (const { name, folder } of versions) menu.add(new Option(name, folder, false, name === here.dataset.version))
  menu.addEventListener('change', () => {
    const page = location.pathname.split('/').pop() || 'index.html'
    const chosen = versions.find(({ folder }) => folder === menu.value)
    const kept = chosen.pages.includes(page)
    location.assign(`../${chosen.folder}/${kept ? page + location.hash : 'index.html'}`)
  })
  here.replaceWith(menu)
}

const most = 12 // results shown

// isBeginning tells the first part of a page: its heading is the page's title.
const isBeginning = (part) => part.heading.startsWith(part.title)

// find returns the parts that contain each word, the best first. A word counts most in a page's title, and more at the
// beginning of a word than in its middle.
function find(parts, words) {
  const value = (text, word, points) => {
    const at = text.indexOf(word)
    if (at < 0) return 0
    return text.startsWith(word) || /[^\p{L}\p{N}]/u.test(text[at - 1]) ? 2 * points : points
  }
  const found = []
  for (const part of parts) {
    let points = 0
    for (const word of words) {
      const gained = value(part.titleLow, word, 4) + value(part.headingLow, word, 5) + value(part.textLow, word, 1)
      if (!gained) { points = 0; break }
      points += gained
    }
    if (points) found.push({ part, points: points + (isBeginning(part) ? 1 : 0) })
  }
  return found.sort((a, b) => b.points - a.points).map(({ part }) => part)
}

// around returns the text near the first word, with each word marked.
function around(text, low, words) {
  const at = Math.max(0, Math.min(...words.map((word) => low.indexOf(word)).filter((i) => i >= 0), text.length) - 50)
  const from = at ? text.indexOf(' ', at) + 1 : 0
  const cut = text.length > from + 150 ? text.slice(from, text.lastIndexOf(' ', from + 150)) + ' …' : text.slice(from)
  const line = document.createElement('small')
  const pattern = new RegExp(`(${words.map((word) => word.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&')).join('|')})`, 'iu')
  cut.split(pattern).forEach((piece, i) => {
    if (i % 2) line.append(Object.assign(document.createElement('mark'), { textContent: piece }))
    else line.append(piece)
  })
  return line
}

// loadParts loads the index at the first search. A script loads from a folder too, where fetch is refused.
let loading
function loadParts() {
  loading ??= new Promise((resolve, reject) => {
    const script = document.createElement('script')
    script.src = 'search-index.js'
    script.onload = () => resolve(window.siteParts.map((part) => ({
      ...part, titleLow: part.title.toLowerCase(), headingLow: part.heading.toLowerCase(), textLow: part.text.toLowerCase(),
    })))
    script.onerror = reject
    document.head.append(script)
  })
  return loading
}

function startSearch() {
  const box = document.querySelector('.search')
  const query = document.getElementById('site-query')
  const results = document.getElementById('site-results')
  const found = document.getElementById('site-found')
  const list = results.querySelector('ol')
  box.hidden = false

  const show = async () => {
    const text = query.value
    const words = text.toLowerCase().split(/\s+/).filter(Boolean)
    results.hidden = !words.length
    if (!words.length) return
    let parts
    try { parts = find(await loadParts(), words) } catch { found.textContent = 'The search index can’t be read.'; return }
    if (text !== query.value) return
    found.textContent = parts.length ? `${parts.length} ${parts.length === 1 ? 'place' : 'places'}` : `Nothing has all of these words: ${text.trim()}`
    list.replaceChildren(...parts.slice(0, most).map((part) => {
      const item = document.createElement('li')
      const link = Object.assign(document.createElement('a'), { href: part.address })
      link.append(Object.assign(document.createElement('b'), { textContent: part.heading }))
      if (!isBeginning(part)) link.append(Object.assign(document.createElement('span'), { textContent: part.title }))
      link.append(around(part.text, part.textLow, words))
      item.append(link)
      return item
    }))
  }
  const close = () => { results.hidden = true }
  const links = () => [...list.querySelectorAll('a')]

  query.addEventListener('focus', () => { loadParts().catch(() => {}); if (query.value) show() })
  query.addEventListener('input', show)
  list.addEventListener('click', close) // a result on this page loads no other one
  document.addEventListener('click', (event) => { if (!box.contains(event.target)) close() })
  box.addEventListener('focusout', (event) => { if (event.relatedTarget && !box.contains(event.relatedTarget)) close() })
  box.addEventListener('keydown', (event) => {
    const all = links()
    const at = all.indexOf(document.activeElement)
    switch (event.key) {
      case 'Escape': close(); query.focus(); break
      case 'ArrowDown': all[Math.min(at + 1, all.length - 1)]?.focus(); break
      case 'ArrowUp': (at > 0 ? all[at - 1] : query).focus(); break
      case 'Enter': if (at >= 0 || !all.length || results.hidden) return; all[0].click(); break
      default: return
    }
    event.preventDefault()
  })
  document.addEventListener('keydown', (event) => {
    if (event.key !== '/' || event.ctrlKey || event.metaKey || event.altKey || /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)) return
    event.preventDefault()
    query.focus()
  })
}

// startCopying adds a button to each block of commands or YAML.
function startCopying() {
  if (!navigator.clipboard) return
  for (const block of document.querySelectorAll('.code[data-language=sh], .code[data-language=yaml]')) {
    const button = Object.assign(document.createElement('button'), { type: 'button', className: 'copy', textContent: 'Copy' })
    button.addEventListener('click', async () => {
      try {
        await navigator.clipboard.writeText(block.querySelector('pre').textContent)
        button.textContent = 'Copied'
      } catch { button.textContent = 'Can’t copy' }
      setTimeout(() => { button.textContent = 'Copy' }, 2000)
    })
    block.append(button)
  }
}

// startContents marks the part of the page that is being read.
function startContents() {
  const links = [...document.querySelectorAll('aside.contents a')]
  const headings = links.map((link) => document.getElementById(decodeURIComponent(link.hash.slice(1))))
  const mark = () => {
    const at = headings.findLastIndex((heading) => heading.getBoundingClientRect().top < 120)
    links.forEach((link, i) => { if (i === at) link.setAttribute('aria-current', 'true'); else link.removeAttribute('aria-current') })
  }
  if (!links.length) return
  addEventListener('scroll', mark, { passive: true })
  mark()
}

document.addEventListener('DOMContentLoaded', () => {
  startTheme()
  startVersions()
  startSearch()
  startCopying()
  startContents()
  document.querySelector('#site-nav [aria-current]')?.scrollIntoView({ block: 'nearest' })
})
