package top

import (
	"time"

	tea "charm.land/bubbletea/v2"

	"nowake.ai/svc-lb-mux/cmd/svcmux/cli"
)

// view is how a user looks at a page.
type view struct {
	column     int // by which the page is sorted
	descending bool
	first      int // the first row on the screen
}

// model is the state of the screen.
type model struct {
	paint         cli.Paint
	server        string
	width, height int
	current       int
	views         [pageCount]view
	pages         [pageCount]page
	at            time.Time
	help          bool
	failure       error
}

func newModel(env cli.Env, server string) *model {
	m := &model{paint: env.Paint(env.Out), server: server}
	m.views[changes].descending = true
	return m
}

// Init does nothing before the first message.
func (m *model) Init() tea.Cmd { return nil }

// Update takes a message.
func (m *model) Update(message tea.Msg) (tea.Model, tea.Cmd) {
	switch message := message.(type) {
	case tea.WindowSizeMsg:
		m.width, m.height = message.Width, message.Height
	case update:
		m.pages, m.at = message.pages, message.at
	case ended:
		m.failure = message.err
		return m, tea.Quit
	case tea.KeyPressMsg:
		if m.key(message.String()) {
			return m, tea.Quit
		}
	}
	m.bound()
	return m, nil
}

// key takes a key. It returns true if the key ends the program.
func (m *model) key(key string) bool {
	v := &m.views[m.current]
	columns := max(1, len(m.pages[m.current].header))
	switch key {
	case "q", "ctrl+c":
		return true
	case "?", "h":
		m.help = !m.help
	case "esc":
		m.help = false
	case "1", "2", "3", "4", "5":
		m.current, m.help = int(key[0]-'1'), false
	case "tab":
		m.current = (m.current + 1) % pageCount
	case "shift+tab":
		m.current = (m.current + pageCount - 1) % pageCount
	case "right":
		v.column = (v.column + 1) % columns
	case "left":
		v.column = (v.column + columns - 1) % columns
	case "r":
		v.descending = !v.descending
	case "down", "j":
		v.first++
	case "up", "k":
		v.first--
	case "pgdown", "space":
		v.first += m.room()
	case "pgup":
		v.first -= m.room()
	case "home":
		v.first = 0
	case "end":
		v.first = len(m.pages[m.current].rows)
	}
	return false
}

// bound keeps the first row within the page.
func (m *model) bound() {
	v := &m.views[m.current]
	v.first = max(0, min(v.first, len(m.pages[m.current].rows)-m.room()))
}

// View returns the screen.
func (m *model) View() tea.View {
	v := tea.NewView(m.screen())
	v.AltScreen = true
	return v
}
