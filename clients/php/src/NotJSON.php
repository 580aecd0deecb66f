<?php

declare(strict_types=1);

namespace Playhead\Client;

/** The handler gave away something that JSON cannot carry. `pointer` (RFC 6901) says where in the value it was. */
final class NotJSON extends \Exception
{
    public function __construct(string $message, public readonly string $pointer = '')
    {
        parent::__construct($message);
    }
}
