// Command pod is the program of test pods. It answers with its own name, fails when told to, and waits on request.
//
//	pod serve [D] serves HTTP on $PORT (8080) and UDP on the same port; it answers with its name, over UDP after D
//	pod pause     holds a pod's namespaces, as the pause image does
//	pod say WORD  prints the word, for kubectl exec
//	pod ask N URL fetches the URL N times, and prints an answer per line
//	pod leave N   makes its pod unready, and waits until no new connection and no datagram has come for N seconds: for a
//	              preStop hook
//
// The program uses only the standard library, so that its build depends on nothing but its own sources.
package main

import (
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
)

func main() {
	verb := ""
	if len(os.Args) > 1 {
		verb = os.Args[1]
	}
	var err error
	switch verb {
	case "serve":
		err = serve(envOr("PORT", "8080"), os.Args[2:])
	case "pause":
		pause()
	case "say":
		fmt.Println(strings.Join(os.Args[2:], " "))
	case "leave":
		err = leave(os.Args[2:])
	case "ask":
		err = ask(os.Args[2:])
	default:
		err = fmt.Errorf("usage: pod serve|pause|say|ask|leave, not %q", verb)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func envOr(name, otherwise string) string {
	if value := os.Getenv(name); value != "" {
		return value
	}
	return otherwise
}

// pause waits for a signal to end. As process 1 of a pod with a shared process namespace, it also reaps orphans.
func pause() {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGCHLD)
	for s := range signals {
		if s != syscall.SIGCHLD {
			return
		}
		for {
			if pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil); pid <= 0 || err != nil {
				break
			}
		}
	}
}
