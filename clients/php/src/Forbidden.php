<?php

declare(strict_types=1);

namespace Playhead\Client;

/** The policy forbids what was asked or answered to be written. */
final class Forbidden extends \Exception
{
}
