<?php

declare(strict_types=1);

namespace Playhead\Client;

/**
 * The real stdin and stdout, for the protocol alone. What is printed, by whatever way, goes to stderr, and what reads
 * finds the end.
 *
 * PHP has no dup2. With FFI it is the C library's. Without, the streams are closed and opened again, which gives them
 * the numbers that are free; STDIN and STDOUT are closed then. Where a shell has done it before PHP began (`host.php
 * --streams IN,OUT`), it is done.
 */
final class Stdio
{
    private const LIBC = 'int dup(int); int dup2(int, int); int close(int); int fcntl(int, int, ...);';
    private const F_SETFD = 2;
    private const FD_CLOEXEC = 1;

    /** @var array{resource, resource}|null */
    private static ?array $streams = null;

    /** @var list<resource> what holds descriptors 0 and 1 where STDIN and STDOUT were closed */
    private static array $standard = [];

    /**
     * The second time: what the first gave.
     *
     * @param array{int, int}|null $descriptors where a shell has put the real ones; 0 and 1 are taken care of then
     * @return array{resource, resource}
     */
    public static function take(?array $descriptors = null): array
    {
        if (self::$streams !== null) {
            return self::$streams;
        }
        // Frames are large, and floats have all their digits.
        ini_set('memory_limit', '-1');
        ini_set('serialize_precision', '-1');
        $libc = self::libc();
        [$in, $out] = $descriptors ?? [0, 1];
        self::$streams = [self::opened($in, 'rb', $libc), self::opened($out, 'wb', $libc)];
        if ($descriptors !== null) {
            $libc?->close($in);
            $libc?->close($out);
        } elseif ($libc !== null) {
            self::redirect($libc);
        } else {
            self::reopen();
        }
        return self::$streams;
    }

    private static function libc(): ?\FFI
    {
        try {
            return extension_loaded('ffi') ? \FFI::cdef(self::LIBC) : null;
        } catch (\Throwable) {
            // It may be switched off, and other systems have another library.
            return null;
        }
    }

    /**
     * A copy of the descriptor as a stream. With libc no child inherits it.
     *
     * @return resource
     */
    private static function opened(int $descriptor, string $mode, ?\FFI $libc)
    {
        $number = $libc === null ? null : self::lowestFree($libc);
        $stream = @fopen("php://fd/$descriptor", $mode);
        if ($stream === false) {
            throw new \RuntimeException("descriptor $descriptor cannot be opened");
        }
        $libc?->fcntl($number, self::F_SETFD, self::FD_CLOEXEC);
        return $stream;
    }

    /** The number that what is opened next will have: PHP does not tell. */
    private static function lowestFree(\FFI $libc): int
    {
        $number = $libc->dup(2);
        $libc->close($number);
        return $number;
    }

    private static function redirect(\FFI $libc): void
    {
        $number = self::lowestFree($libc);
        $empty = fopen('/dev/null', 'rb');
        $libc->dup2($number, 0);
        fclose($empty);
        $libc->dup2(2, 1);
    }

    private static function reopen(): void
    {
        fclose(STDIN);
        $in = fopen('/dev/null', 'rb');
        fclose(STDOUT);
        self::$standard = [$in, fopen('php://fd/2', 'wb')];
    }
}
