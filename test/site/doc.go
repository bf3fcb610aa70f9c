// Package site builds the website of docs/, checks every link of its pages, and opens them in a browser.
package site
