<?php

// An event is an integer, and so is the output: exact up to 64 bits.

return fn($event) => $event + 1;
