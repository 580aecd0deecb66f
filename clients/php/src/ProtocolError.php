<?php

declare(strict_types=1);

namespace Playhead\Client;

/** The daemon refused the message as such, or sent one that is none. */
final class ProtocolError extends \Exception
{
}
