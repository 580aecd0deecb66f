"""The command line: one file a command; output owns text and exit codes."""
