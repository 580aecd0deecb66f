"""Questions, answers and verdicts, as pure values: this layer never learns that processes exist."""
