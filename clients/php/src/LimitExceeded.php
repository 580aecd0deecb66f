<?php

declare(strict_types=1);

namespace Playhead\Client;

/** Larger than the largest frame. */
final class LimitExceeded extends \Exception
{
}
