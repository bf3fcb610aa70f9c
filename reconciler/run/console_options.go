package run

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/netip"

	"nowake.ai/svc-lb-mux/validation/flags"
)

// ConsoleOptions are the settings of the console.
type ConsoleOptions struct {
	// Console enables the console.
	Console flags.Switch
	// ConsoleAddress is the address to serve the console on. Without a token, it must be a loopback address, unless
	// ConsoleAuth is kubernetes.
	ConsoleAddress string
	// ConsoleToken is the token for access, as a password or a bearer token. It has no flag, since flags are visible to
	// other users.
	ConsoleToken string
	// ConsoleAuth is token, or kubernetes if the API server reviews tokens.
	ConsoleAuth string
	// ConsoleActions allows connection tests.
	ConsoleActions flags.Switch
	// ConsoleTraffic shows what gateways count.
	ConsoleTraffic flags.Switch
	// ConsoleCert and ConsoleKey are the files of the console's certificate. Without them, the console is served over
	// plain HTTP.
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
		ConsoleAuth:    cmp.Or(getenv("DEBUG_WEB_AUTH"), authToken),
		ConsoleActions: flags.Switch(getenv("DEBUG_WEB_ACTIONS_ENABLED")),
	}
}

func (o *ConsoleOptions) addFlags(set *flag.FlagSet) {
	text := func(to *string, name, usage string) { set.StringVar(to, name, *to, usage) }
	set.Var(&o.Console, "console", "serve the console: true or false (DEBUG_WEB_ENABLED)")
	text(&o.ConsoleAddress, "console-address",
		"`host:port` to serve the console on (DEBUG_WEB_PORT); a loopback address unless DEBUG_WEB_AUTH_TOKEN (or "+
			"AUTH_TOKEN) is set")
	text(&o.ConsoleAuth, "console-auth", "`how` the console authorises readers (DEBUG_WEB_AUTH): token, by "+
		"DEBUG_WEB_AUTH_TOKEN; or kubernetes, by the API server's review of a token")
	set.Var(&o.ConsoleActions, "console-actions", "let the console test connections: true or false "+
		"(DEBUG_WEB_ACTIONS_ENABLED)")
	set.Var(&o.ConsoleTraffic, "console-traffic", "show what the gateways of this namespace count: true or false; needs "+
		"the right to list Leases")
	text(&o.ConsoleCert, "console-cert", "`file` with the console's certificate; plain HTTP if empty")
	text(&o.ConsoleKey, "console-key", "`file` with the certificate's key")
}

func (o *ConsoleOptions) check() error {
	on, err := o.Console.On("--console (DEBUG_WEB_ENABLED)")
	_, actionsErr := o.ConsoleActions.On("--console-actions (DEBUG_WEB_ACTIONS_ENABLED)")
	_, trafficErr := o.ConsoleTraffic.On("--console-traffic")
	if !on || err != nil {
		return errors.Join(err, actionsErr, trafficErr)
	}
	return errors.Join(actionsErr, trafficErr, o.checkAuth(), o.checkAddress(), o.checkFiles())
}

// The values of ConsoleAuth.
const (
	authToken      = "token"
	authKubernetes = "kubernetes"
)

func (o *ConsoleOptions) checkAuth() error {
	const name = "--console-auth (DEBUG_WEB_AUTH)"
	switch {
	case o.ConsoleAuth != authToken && o.ConsoleAuth != authKubernetes:
		return fmt.Errorf("%s %q: write %s or %s", name, o.ConsoleAuth, authToken, authKubernetes)
	case o.ConsoleAuth == authKubernetes && o.ConsoleToken != "":
		return fmt.Errorf("%s is %s, so DEBUG_WEB_AUTH_TOKEN (or AUTH_TOKEN) would have no effect: leave one of them out",
			name,
			authKubernetes)
	}
	return nil
}

func (o *ConsoleOptions) checkAddress() error {
	const name = "--console-address (DEBUG_WEB_PORT)"
	if err := flags.Address(name, o.ConsoleAddress, "8080"); err != nil {
		return err
	}
	if o.ConsoleToken == "" && o.ConsoleAuth != authKubernetes && !isLoopback(o.ConsoleAddress) {
		return fmt.Errorf("%s %q can be reached by others, and the console has no token: set DEBUG_WEB_AUTH_TOKEN, or write "+
			"127.0.0.1:8080 and reach it with kubectl port-forward", name, o.ConsoleAddress)
	}
	return nil
}

func (o *ConsoleOptions) checkFiles() error {
	if (o.ConsoleCert == "") != (o.ConsoleKey == "") {
		return fmt.Errorf("--console-cert %q and --console-key %q: give both, or neither for plain HTTP", o.ConsoleCert,
			o.ConsoleKey)
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
