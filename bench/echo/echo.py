"""What comes on stdin, back on stdout: no JSON, no frames."""

import os

while line := os.read(0, 65536):
    os.write(1, line)
