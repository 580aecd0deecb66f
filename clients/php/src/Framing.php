<?php

declare(strict_types=1);

namespace Playhead\Client;

/** Bytes into lines. Only the byte 0x0A ends a frame. */
final class Framing
{
    public const LARGEST = 64 << 20;

    /** @param resource $input */
    public function __construct(private $input)
    {
        stream_set_chunk_size($input, 1 << 16);
    }

    /** The next frame without its line end, null at the end of input. What the end cuts off is no frame. */
    public function next(): ?string
    {
        // Without a length: with one, fgets takes that much memory before it reads.
        $line = @fgets($this->input);
        if ($line === false || !str_ends_with($line, "\n")) {
            return null;
        }
        if (strlen($line) > self::LARGEST + 1) {
            throw new ProtocolError('a frame is larger than ' . self::LARGEST . ' bytes');
        }
        return substr($line, 0, -1);
    }
}
