<?php

declare(strict_types=1);

namespace Playhead\Client\Tests;

use PHPUnit\Framework\TestCase;
use Playhead\Client\Framing;

final class FramingTest extends TestCase
{
    /** @return list<string|null> */
    private static function read(string $bytes, int $frames): array
    {
        [$read, $write] = stream_socket_pair(STREAM_PF_UNIX, STREAM_SOCK_STREAM, 0);
        $framing = new Framing($read);
        fwrite($write, $bytes);
        fclose($write);
        return array_map(fn() => $framing->next(), range(1, $frames));
    }

    public function testOnlyALineFeedEndsAFrame(): void
    {
        $text = "a\u{2028}\u{85}b\r\0";
        self::assertSame(['one', $text, '', 'last'], self::read("one\n$text\n\nlast\n", 4));
    }

    public function testWhatTheEndCutsOffIsNoFrame(): void
    {
        self::assertSame(['one', null, null], self::read("one\ntw", 3));
    }
}
