package main

import (
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"
)

// ask fetches a page that many times, over a connection each, and prints an answer a line: for questions from inside a
// pod, by kubectl exec.
func ask(args []string) error {
	if len(args) != 2 {
		return fmt.Errorf("usage: pod ask TIMES URL")
	}
	times, err := strconv.Atoi(args[0])
	if err != nil {
		return fmt.Errorf("ask: %q is no number of times", args[0])
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

// leave is for a preStop hook. Who is to end says so by its readiness, and serves on until the news is everywhere: of a flow
// of datagrams, kube-proxy lets go only then. How long that takes is the machine's affair, so it goes by who still asks, and
// counts looks rather than time: while the machine stands still, nobody could have asked.
func leave(args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("usage: pod leave SECONDS")
	}
	seconds, err := strconv.Atoi(args[0])
	if err != nil {
		return fmt.Errorf("leave: %q is no number of seconds", args[0])
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
