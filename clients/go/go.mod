module playhead.dev/go

go 1.22
