<?php
// What comes on stdin, back on stdout: no JSON, no frames.
while (($line = fgets(STDIN)) !== false) {
    fwrite(STDOUT, $line);
}
