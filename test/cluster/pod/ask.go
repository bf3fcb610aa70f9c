package main

import (
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"
)

// ask fetches a page the given number of times, each over a new connection, and prints an answer per line. It sends
// requests from inside of a pod, by kubectl exec.
func ask(args []string) error {
	if len(args) != 2 {
		return fmt.Errorf("usage: pod ask TIMES URL")
	}
	times, err := strconv.Atoi(args[0])
	if err != nil {
		return fmt.Errorf("ask: %q isn't a number", args[0])
	}
	client := &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	for range times {
		answer, err := fetch(client, args[1])
		if err != nil {
			answer = err.Error()
		}
		fmt.Println(answer)
	}
	return nil
}

// leave is for a preStop hook. It makes its pod unready, and serves until all clients and proxies have noticed: only
// then does kube-proxy drop flows of datagrams. The time that takes depends on the machine, so leave watches for
// further requests. It counts checks instead of time, because a machine that stands still sends no requests.
func leave(args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("usage: pod leave SECONDS")
	}
	seconds, err := strconv.Atoi(args[0])
	if err != nil {
		return fmt.Errorf("leave: %q isn't a number of seconds", args[0])
	}
	const looksPerSecond = 10
	self, client := "http://127.0.0.1:"+envOr("PORT", "8080"), &http.Client{}
	response, err := client.Post(self+"/unready", "", nil)
	if err != nil {
		return err
	}
	if err := response.Body.Close(); err != nil {
		return err
	}
	before := ""
	for quiet := 0; quiet <= seconds*looksPerSecond; quiet++ {
		now, err := fetch(client, self+"/sent")
		if err != nil {
			return err
		}
		if now != before {
			before, quiet = now, 0
		}
		time.Sleep(time.Second / looksPerSecond)
	}
	return nil
}

func fetch(client *http.Client, url string) (string, error) {
	response, err := client.Get(url)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	return string(body), err
}
