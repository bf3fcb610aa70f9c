// The names and looks of states. Each state has a word and a sign, so that it doesn't depend on colour alone.

export const channelStates = {
  programmed: { word: 'programmed', tone: 'ok', sign: '✓' },
  unbacked: { word: 'no backend ready', tone: 'warn', sign: '!' },
  pending: { word: 'waits for an address', tone: 'warn', sign: '…' },
  keeps: { word: 'edit refused', tone: 'warn', sign: '!' },
  leaving: { word: 'being deleted', tone: 'off', sign: '–' },
  disabled: { word: 'disabled', tone: 'off', sign: '–' },
  waiting: { word: 'waits for its mux', tone: 'warn', sign: '…' },
  refused: { word: 'refused', tone: 'bad', sign: '✕' },
  unknown: { word: 'not known here', tone: 'off', sign: '?' },
}

export const muxStates = {
  ok: { word: 'serving', tone: 'ok', sign: '✓' },
  pending: { word: 'not ready yet', tone: 'warn', sign: '…' },
  uncarried: { word: 'no gateway answers', tone: 'bad', sign: '✕' },
  frozen: { word: 'frozen', tone: 'bad', sign: '!' },
  paused: { word: 'paused', tone: 'off', sign: '–' },
  deleting: { word: 'being deleted', tone: 'bad', sign: '✕' },
  missing: { word: 'missing', tone: 'bad', sign: '✕' },
}

export const linkStates = {
  ok: { word: 'ok', tone: 'ok', sign: '✓' },
  warn: { word: 'needs attention', tone: 'warn', sign: '!' },
  bad: { word: 'broken', tone: 'bad', sign: '✕' },
  open: { word: 'not reached', tone: 'off', sign: '·' },
  unread: { word: 'not readable', tone: 'off', sign: '?' },
}

export const slotStates = {
  held: 'held', withheld: 'held, not on the mux', releasing: 'being released', grace: 'in grace', foreign: 'foreign', free: 'free',
}

export const state = (table, name) => Object.hasOwn(table, name) ? table[name] : { word: name, tone: 'off', sign: '?' }

export const muxName = (mux) => (mux.name ? mux.namespace + '/' + mux.name : 'no mux named')
