"""The lowest layer that touches the world: processes, pipes, clocks, files."""
