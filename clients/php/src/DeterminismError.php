<?php

declare(strict_types=1);

namespace Playhead\Client;

/** The tape does not know what was asked. `kind` is the verdict's: question, order, exhausted, ... It is latched. */
final class DeterminismError extends \Exception
{
    public function __construct(string $message, public readonly string $kind = 'question')
    {
        parent::__construct($message);
    }
}
