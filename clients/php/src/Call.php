<?php

declare(strict_types=1);

namespace Playhead\Client;

/** A call that the daemon wants answered, and what its context shares with the peer. */
final class Call
{
    public int $asks = 0;
    public int $spans = 0;

    /** @var list<string> items that `asked` has yet to report */
    public array $taken = [];

    /** Settlements whose replies are not here yet. */
    public int $unsettled = 0;

    /** What the call's next question fails with. */
    public ?\Throwable $failure = null;

    /** How many producers are at work, one in the other. */
    public int $producing = 0;

    public bool $cancelled = false;
    public bool $over = false;

    /** @param bool $produce the window says that answers are produced here, and that nobody waits for that */
    public function __construct(
        public readonly int $number,
        public readonly string $fn,
        public readonly int $seq,
        public readonly bool $produce,
    ) {
    }
}
