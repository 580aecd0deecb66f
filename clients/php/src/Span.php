<?php

declare(strict_types=1);

namespace Playhead\Client;

/** A piece of work that has begun. */
final class Span
{
    private ?\Closure $finish;

    public function __construct(\Closure $finish)
    {
        $this->finish = $finish;
    }

    /** Says that it ends, once. */
    public function end(mixed $outcome = null): void
    {
        [$finish, $this->finish] = [$this->finish, null];
        if ($finish !== null) {
            $finish($outcome);
        }
    }
}
