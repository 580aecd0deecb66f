<?php

declare(strict_types=1);

namespace Playhead\Client;

/** An error from the tape whose type has no reviver and is no class here. It leaves the handler under its type again. */
final class RecordedError extends HandlerError
{
}
