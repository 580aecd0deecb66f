<?php

declare(strict_types=1);

namespace Playhead\Client;

/** The context was asked after its call had been answered. */
final class CallEnded extends \Exception
{
}
