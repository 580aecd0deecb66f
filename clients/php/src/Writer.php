<?php

declare(strict_types=1);

namespace Playhead\Client;

/** The slow way out, for integers of more than 64 bits and texts with halves of characters. */
final class Writer
{
    public const HALF = '\xED[\xA0-\xBF][\x80-\xBF]';

    private const PLAIN = JSON_UNESCAPED_SLASHES | JSON_UNESCAPED_UNICODE | JSON_UNESCAPED_LINE_TERMINATORS
        | JSON_PRESERVE_ZERO_FRACTION | JSON_THROW_ON_ERROR;

    /** The JSON of a value of which nothing is wrong. */
    public static function write(mixed $value): string
    {
        if (is_string($value)) {
            return self::text($value);
        }
        if ($value instanceof BigInteger || $value instanceof \GMP) {
            return (string) $value;
        }
        if (is_array($value) && array_is_list($value)) {
            return '[' . implode(',', array_map(self::write(...), $value)) . ']';
        }
        if (is_array($value) || is_object($value)) {
            $members = [];
            foreach ((array) $value as $key => $item) {
                $members[] = self::text((string) $key) . ':' . self::write($item);
            }
            return '{' . implode(',', $members) . '}';
        }
        return json_encode($value, self::PLAIN);
    }

    private static function text(string $text): string
    {
        $written = '';
        $pieces = preg_split('/(' . self::HALF . ')/', $text, -1, PREG_SPLIT_DELIM_CAPTURE);
        foreach ($pieces as $index => $piece) {
            $written .= $index % 2 === 0
                ? substr(json_encode($piece, self::PLAIN), 1, -1)
                : sprintf('\u%04x', 0xD000 | (ord($piece[1]) & 0x3F) << 6 | ord($piece[2]) & 0x3F);
        }
        return "\"$written\"";
    }
}
