"""JSON-RPC 2.0 over a pair of streams, with no I/O in it."""
