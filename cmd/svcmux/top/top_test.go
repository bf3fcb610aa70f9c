package top

import (
	"context"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/charmbracelet/x/vt"
	"github.com/creack/pty"
	"github.com/google/go-cmp/cmp"
	"golang.org/x/term"

	"nowake.ai/svc-lb-mux/cmd/svcmux/cli"
	"nowake.ai/svc-lb-mux/cmd/svcmux/look/looktest"
	"nowake.ai/svc-lb-mux/internal/testkit/golden"
)

// session is a run of the command in a pseudo-terminal, and the screen that a person sees.
type session struct {
	t      *testing.T
	keys   *os.File // for the keys that the person types
	tty    *os.File
	screen *vt.SafeEmulator
	state  *term.State
	stop   context.CancelFunc
	ended  chan error
	drawn  sync.WaitGroup
}

func start(t *testing.T, kubeconfig string, columns, rows int, args ...string) *session {
	t.Helper()
	t.Setenv("TERM", "xterm-256color")
	keys, tty, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	if err := pty.Setsize(keys,
		&pty.Winsize{Cols: uint16(columns), Rows: uint16(rows)}); err != nil { //nolint:gosec // small numbers
		t.Fatal(err)
	}
	state, err := term.GetState(int(tty.Fd())) //nolint:gosec // a small number
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	s := &session{t: t, keys: keys, tty: tty, screen: vt.NewSafeEmulator(columns, rows), state: state, stop: stop,
		ended: make(chan error, 1)}
	s.drawn.Go(func() { _, _ = io.Copy(s.screen, keys) })
	go func() { _, _ = io.Copy(keys, s.screen) }() // answers of the terminal
	cmd := Command(cli.Env{Program: "svcmux", In: tty, Out: tty, Err: tty, Now: looktest.Now, Getenv: func(string) string {
		return ""
	}})
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetArgs(append([]string{"--kubeconfig", kubeconfig}, args...))
	go func() { s.ended <- cmd.ExecuteContext(ctx) }()
	return s
}

func (s *session) press(keys string) {
	s.t.Helper()
	if _, err := io.WriteString(s.keys, keys); err != nil {
		s.t.Fatal(err)
	}
}

// signal sends a signal to this process, in which the command runs.
func (s *session) signal(is syscall.Signal) {
	s.t.Helper()
	if err := syscall.Kill(os.Getpid(), is); err != nil {
		s.t.Fatal(err)
	}
}

// text returns the screen without the blanks at the ends of lines.
func (s *session) text() string {
	var b strings.Builder
	for y := range s.screen.Height() {
		line := ""
		for x := range s.screen.Width() {
			if cell := s.screen.CellAt(x, y); cell != nil && cell.Content != "" {
				line += cell.Content
			} else {
				line += " "
			}
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	return b.String()
}

// await waits for a text on the screen.
func (s *session) await(part string) {
	s.t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !strings.Contains(s.text(),
		part); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			s.t.Fatalf("%q isn't on the screen:\n%s", part, s.text())
		}
	}
}

// golden compares the screen with a screen of testdata, once it has a text.
func (s *session) golden(name, part string) {
	s.t.Helper()
	s.await(part)
	screens := golden.Read(s.t, "testdata/screens.txtar")
	// a screen may be drawn in parts
	deadline := time.Now().Add(5 * time.Second)
	for s.text() != screens.Section(name) && time.Now().Before(deadline) {
		time.Sleep(20 * time.Millisecond)
	}
	screens.Compare(s.t, name, s.text())
}

// end waits for the end of the program, and checks that the terminal is as it was before.
func (s *session) end() error {
	s.t.Helper()
	var err error
	select {
	case err = <-s.ended:
	case <-time.After(20 * time.Second):
		s.t.Fatalf("the program doesn't end:\n%s", s.text())
	}
	if is, same := term.GetState(int(s.tty.Fd())); same != nil || *is != *s.state { //nolint:gosec // a small number
		s.t.Errorf("the terminal's modes aren't restored: %v, %v", is, same)
	}
	if closed := s.tty.Close(); closed != nil {
		s.t.Error(closed)
	}
	s.drawn.Wait()
	_ = s.keys.Close()
	if s.screen.IsAltScreen() || s.screen.CursorHidden() {
		s.t.Errorf("the screen isn't restored: alternate screen %v, hidden cursor %v", s.screen.IsAltScreen(),
			s.screen.CursorHidden())
	}
	return err
}

func TestPagesAndKeys(t *testing.T) {
	kubeconfig, _ := looktest.Load(t, looktest.Worlds+"/busy.yaml").Serve(t)
	s := start(t, kubeconfig, 80, 24)
	s.golden("muxes", "7/5000")
	s.press("2")
	s.golden("ports", "[2 ports]")
	s.press("\x1b[C\x1b[Cr") // sorts by the third column, descending
	s.golden("ports-by-channel", "by CHANNEL, descending")
	s.press("3")
	s.golden("backends", "[3 backends]")
	s.press("\t")
	s.golden("no-traffic", "No gateway has counted")
	s.press("\t")
	s.golden("changes", "Nothing has changed yet.")
	s.press("?")
	s.golden("help", "choose the page")
	s.press("q")
	if err := s.end(); err != nil {
		t.Error(err)
	}
}

func TestTrafficIsTheSumOfGateways(t *testing.T) {
	for name, tc := range map[string]struct {
		forbidden []string
		await     string
	}{
		"traffic":           {nil, "10000"},
		"forbidden-traffic": {[]string{"leases"}, "you may not list Leases"},
	} {
		t.Run(name, func(t *testing.T) {
			kubeconfig, _ := looktest.Load(t, looktest.Worlds+"/gateways.yaml").Serve(t, tc.forbidden...)
			s := start(t, kubeconfig, 100, 24)
			s.press("4")
			s.golden(name, tc.await)
			s.press("q")
			if err := s.end(); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestNarrowAndShortScreens(t *testing.T) {
	kubeconfig, _ := looktest.Load(t, looktest.Worlds+"/busy.yaml").Serve(t)
	s := start(t, kubeconfig, 40, 8)
	s.press("2")
	s.golden("ports-40", "[2 ports]")
	s.press("\x1b[6~") // page down
	s.golden("ports-40-down", "rows 4-")
	s.press("\x1b[D") // sorts by the last column, which wasn't on the screen
	s.golden("ports-40-state", "by STATE")
	s.press("q")
	if err := s.end(); err != nil {
		t.Error(err)
	}
}

// TestChangesAreShown changes a mux, and looks at the pages.
func TestChangesAreShown(t *testing.T) {
	kubeconfig, server := looktest.Load(t, looktest.Worlds+"/several.yaml").Serve(t)
	changed := make(chan string, 1)
	server.Stream = func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusOK)
		w.(http.Flusher).Flush()
		select {
		case <-r.Context().Done():
		case text := <-changed:
			_, _ = io.WriteString(w, text)
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		}
	}
	s := start(t, kubeconfig, 80, 24)
	s.await("edge/other")
	changed <- `{"type":"MODIFIED","object":{"apiVersion":"v1","kind":"Service","metadata":{"namespace":"edge",` +
		`"name":"other","resourceVersion":"9",` +
		`"annotations":{"svc-mux.nowake.ai/multiplexer":"true"}},"spec":{"type":"LoadBalancer",` +
		`"ports":[{"name":"placeholder","port":101}]},` +
		`"status":{"loadBalancer":{"ingress":[{"ip":"203.0.113.99"}]}}}}` + "\n"
	s.await("203.0.113.99")
	s.press("5")
	s.golden("changed", "ADDRESS - -> 203.0.113.99")
	s.press("q")
	if err := s.end(); err != nil {
		t.Error(err)
	}
}

// TestTerminalIsRestored ends the program in other ways than with the key q.
func TestTerminalIsRestored(t *testing.T) {
	for name, tc := range map[string]struct {
		forbidden []string
		args      []string
		end       func(*session)
		want      string
	}{
		"Ctrl+C":               {end: func(s *session) { s.await("7/5000"); s.press("\x03") }},
		"an interrupt":         {end: func(s *session) { s.await("7/5000"); s.stop() }},
		"an interrupt at once": {end: func(s *session) { s.stop() }},
		"SIGHUP":               {end: func(s *session) { s.await("7/5000"); s.signal(syscall.SIGHUP) }},
		"SIGTERM":              {end: func(s *session) { s.await("7/5000"); s.signal(syscall.SIGTERM) }},
		"an error": {
			forbidden: []string{"services"}, args: []string{"-A"}, end: func(*session) {},
			want: `services is forbidden: User "jane" cannot list resource "services" in API group "" at the cluster scope: ` +
				`ask for this right, or choose another namespace with -n`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			kubeconfig, _ := looktest.Load(t, looktest.Worlds+"/busy.yaml").Serve(t, tc.forbidden...)
			s := start(t, kubeconfig, 80, 24, tc.args...)
			tc.end(s)
			err := s.end()
			if tc.want == "" && err != nil && name != "an interrupt at once" || tc.want != "" &&
				(err == nil || err.Error() != tc.want) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
		})
	}
}

func TestTopNeedsTerminalAndCluster(t *testing.T) {
	kubeconfig, _ := looktest.Load(t, looktest.Worlds+"/busy.yaml").Serve(t)
	for want, args := range map[string][]string{
		"top needs a terminal: svcmux status -w prints the lines that change": nil,
		"top needs a cluster: status and ports read a snapshot":               {"--snapshot", "/nix"},
	} {
		if got := looktest.RunAt(t, Command, kubeconfig, "", args...); got.Err != want || got.Code == 0 {
			t.Errorf("got %d, %q, want %q", got.Code, got.Err, want)
		}
	}
}

func TestCellsAreSortedByNumber(t *testing.T) {
	p := page{header: []string{"NUMBER"}, rows: []row{{cells: []string{"443/TCP"}}, {cells: []string{"20000/TCP"}},
		{cells: []string{"-"}}, {cells: []string{"80/TCP"}}}}
	var got []string
	for _, r := range p.sorted(0, false) {
		got = append(got, r.cells[0])
	}
	if diff := cmp.Diff([]string{"-", "80/TCP", "443/TCP", "20000/TCP"}, got); diff != "" {
		t.Error(diff)
	}
}
