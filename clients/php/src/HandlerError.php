<?php

declare(strict_types=1);

namespace Playhead\Client;

/** The handler's own error, the same in every language: type and message go to the tape as they are. */
class HandlerError extends \Exception
{
    /** @param list<mixed>|null $args */
    public function __construct(
        public readonly string $type,
        string $message = '',
        public readonly ?array $args = null,
        public readonly mixed $data = null,
        ?\Throwable $previous = null,
    ) {
        parent::__construct($message, 0, $previous);
    }
}
