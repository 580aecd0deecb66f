<?php

declare(strict_types=1);

namespace Playhead\Client;

/** The daemon gave the call up while the question was open. */
final class Cancelled extends \Exception
{
}
