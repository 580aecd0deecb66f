<?php

declare(strict_types=1);

namespace Playhead\Client;

/** An integer of more than 64 bits: its digits, exactly. `gmp_init((string) $n)` or bcmath calculates with it. */
final class BigInteger implements \Stringable
{
    public function __construct(public readonly string $digits)
    {
        if (preg_match('/^-?(0|[1-9][0-9]*)$/D', $digits) !== 1) {
            throw new \ValueError("no integer: $digits");
        }
    }

    public function __toString(): string
    {
        return $this->digits;
    }
}
