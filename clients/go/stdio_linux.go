package playhead

import "syscall"

func replace(from, to int) error { return syscall.Dup3(from, to, 0) }
