// What comes on stdin, back on stdout: no JSON, no frames.
package main

import "os"

func main() {
	bytes := make([]byte, 65536)
	for {
		size, err := os.Stdin.Read(bytes)
		if err != nil {
			return
		}
		os.Stdout.Write(bytes[:size])
	}
}
