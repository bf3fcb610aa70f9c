package reconciler

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/netip"

	"nowake.ai/svc-lb-mux/validation/flags"
)

// ConsoleOptions are about the page that shows what the reconciler sees and decides.
type ConsoleOptions struct {
	// Console is whether there is one.
	Console flags.Switch
	// ConsoleAddress is where it is served. Without a token that must be a loopback address.
	ConsoleAddress string
	// ConsoleToken is asked for, as a password or a bearer token. It comes from the environment alone: anybody may read flags.
	ConsoleToken string
	// ConsoleActions allows to try connections, which is more than to look.
	ConsoleActions flags.Switch
	// ConsoleCert and ConsoleKey are the files of its certificate; without them it is served over plain HTTP.
	ConsoleCert, ConsoleKey string
}

func defaultConsoleOptions(getenv func(string) string) ConsoleOptions {
	token := cmp.Or(getenv("DEBUG_WEB_AUTH_TOKEN"), getenv("AUTH_TOKEN"))
	host := "127.0.0.1"
	if token != "" {
		host = ""
	}
	return ConsoleOptions{
		Console:        flags.Switch(cmp.Or(getenv("DEBUG_WEB_ENABLED"), "true")),
		ConsoleAddress: host + ":" + cmp.Or(getenv("DEBUG_WEB_PORT"), "8080"),
		ConsoleToken:   token,
		ConsoleActions: flags.Switch(getenv("DEBUG_WEB_ACTIONS_ENABLED")),
	}
}

func (o *ConsoleOptions) addFlags(set *flag.FlagSet) {
	text := func(to *string, name, usage string) { set.StringVar(to, name, *to, usage) }
	set.Var(&o.Console, "console", "serve the console: true or false (DEBUG_WEB_ENABLED)")
	text(&o.ConsoleAddress, "console-address",
		"`host:port` to serve the console on (DEBUG_WEB_PORT); a loopback address unless DEBUG_WEB_AUTH_TOKEN (or AUTH_TOKEN) is set")
	set.Var(&o.ConsoleActions, "console-actions", "let the console try connections: true or false (DEBUG_WEB_ACTIONS_ENABLED)")
	text(&o.ConsoleCert, "console-cert", "`file` with the console's certificate; plain HTTP if empty")
	text(&o.ConsoleKey, "console-key", "`file` with its key")
}

func (o *ConsoleOptions) check() error {
	on, err := o.Console.On("--console (DEBUG_WEB_ENABLED)")
	_, actionsErr := o.ConsoleActions.On("--console-actions (DEBUG_WEB_ACTIONS_ENABLED)")
	if !on || err != nil {
		return errors.Join(err, actionsErr)
	}
	return errors.Join(actionsErr, o.checkAddress(), o.checkFiles())
}

func (o *ConsoleOptions) checkAddress() error {
	const name = "--console-address (DEBUG_WEB_PORT)"
	if err := flags.Address(name, o.ConsoleAddress, "8080"); err != nil {
		return err
	}
	if o.ConsoleToken == "" && !isLoopback(o.ConsoleAddress) {
		return fmt.Errorf("%s %q can be reached by others, and the console has no token: set DEBUG_WEB_AUTH_TOKEN, or write "+
			"127.0.0.1:8080 and reach it with kubectl port-forward", name, o.ConsoleAddress)
	}
	return nil
}

func (o *ConsoleOptions) checkFiles() error {
	if (o.ConsoleCert == "") != (o.ConsoleKey == "") {
		return fmt.Errorf("--console-cert %q and --console-key %q: give both, or neither for plain HTTP", o.ConsoleCert, o.ConsoleKey)
	}
	return nil
}

func isLoopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}
