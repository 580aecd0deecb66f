<?php

declare(strict_types=1);

namespace Playhead\Client;

/** A request of ours that is open. `message` is its reply, once there is one. */
final class Waiter
{
    public ?\stdClass $message = null;

    public function __construct(public readonly Call $call, public readonly bool $settles)
    {
    }
}
