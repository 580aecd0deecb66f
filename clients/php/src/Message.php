<?php

declare(strict_types=1);

namespace Playhead\Client;

/**
 * Values into JSON text and back. What JSON cannot carry is refused with the JSON Pointer of the part.
 *
 * An object is a stdClass, and an array a list: {} and [] stay two values. json_decode and json_encode do nearly all of
 * it. What they cannot carry is read and written by hand: integers of more than 64 bits, which are a BigInteger, and
 * half a character (a lone surrogate), which is the three bytes that UTF-8 would have for it.
 */
final class Message
{
    public const DEPTH = 1000;

    /** A frame has two levels of its own around a value. */
    public const NESTING = self::DEPTH + 10;

    private const WRITE = JSON_UNESCAPED_SLASHES | JSON_UNESCAPED_UNICODE | JSON_UNESCAPED_LINE_TERMINATORS
        | JSON_PRESERVE_ZERO_FRACTION | JSON_THROW_ON_ERROR;

    private const TOO_DEEP = 'deeper than ' . self::DEPTH . ' levels';

    /** The value of one JSON text in UTF-8. */
    public static function read(string $text): mixed
    {
        // A number of 19 digits may be larger than 64 bits, and what is escaped may be half a character.
        if (!str_contains($text, '\\ud') && !str_contains($text, '\\uD') && preg_match('/[0-9]{19}/', $text) !== 1) {
            $value = json_decode($text, false, self::NESTING);
            if ($value !== null || json_last_error() === JSON_ERROR_NONE) {
                return $value;
            }
        }
        return (new Reader($text))->read();
    }

    /** Compact JSON of a value. */
    public static function write(mixed $value, string $what = 'the value'): string
    {
        $odd = false;
        $fault = self::fault($value, 0, $odd);
        if ($fault !== null) {
            self::refuse($value, $what, ...$fault);
        }
        return $odd ? Writer::write($value) : json_encode($value, self::WRITE, self::NESTING);
    }

    /**
     * What the value is after a trip through JSON, and its text.
     *
     * @return array{mixed, string}
     */
    public static function throughJson(mixed $value, string $what = 'the value'): array
    {
        $text = self::write($value, $what);
        return [self::read($text), $text];
    }

    /** A text that is certainly UTF-8, for what people read. */
    public static function clean(string $text): string
    {
        if (preg_match('//u', $text) === 1 || self::hasHalves($text)) {
            return $text;
        }
        return (string) json_decode((string) json_encode($text, JSON_INVALID_UTF8_SUBSTITUTE));
    }

    /** Whether nothing is wrong with the text but halves of characters. */
    private static function hasHalves(string $text): bool
    {
        return preg_match('//u', (string) preg_replace('/' . Writer::HALF . '/', '?', $text)) === 1;
    }

    /**
     * null where the value is JSON; else the reason, and the way to the part, innermost first.
     *
     * @param bool $odd set where json_encode cannot write it
     * @return array{string, list<string>}|null
     */
    private static function fault(mixed $value, int $depth, bool &$odd): ?array
    {
        if (is_string($value)) {
            return self::textFault($value, $odd);
        }
        if ($value === null || is_int($value) || is_bool($value)) {
            return null;
        }
        if (is_float($value)) {
            return is_finite($value) ? null : ["$value is not finite", []];
        }
        if (!is_array($value) && !(is_object($value) && $value::class === \stdClass::class)) {
            return self::objectFault($value, $odd);
        }
        if ($depth >= self::DEPTH) {
            return [self::TOO_DEEP, []];
        }
        // foreach over an object would pass over what looks private.
        foreach (is_array($value) ? $value : (array) $value as $key => $item) {
            $found = is_string($key) ? self::textFault($key, $odd) : null;
            if ($found !== null) {
                return ["in a key, {$found[0]}", []];
            }
            if (is_string($key) && $key !== '' && $key[0] === "\0" && !is_array($value)) {
                $odd = true;
            }
            $found = self::fault($item, $depth + 1, $odd);
            if ($found !== null) {
                $found[1][] = (string) $key;
                return $found;
            }
        }
        return null;
    }

    /** @return array{string, list<string>}|null */
    private static function textFault(string $text, bool &$odd): ?array
    {
        if (preg_match('//u', $text) === 1) {
            return null;
        }
        $odd = true;
        return self::hasHalves($text) ? null : ['bytes that are not UTF-8 have no JSON text: give hex or base64', []];
    }

    /** @return array{string, list<string>}|null */
    private static function objectFault(mixed $value, bool &$odd): ?array
    {
        if ($value instanceof BigInteger || $value instanceof \GMP) {
            $odd = true;
            return is_finite((float) (string) $value) ? null : ['an integer beyond the largest float64', []];
        }
        $what = is_object($value) ? 'an object of ' . strtr($value::class, ["\0" => ' ']) : 'a ' . get_debug_type($value);
        $more = match (true) {
            $value instanceof \JsonSerializable => ': give its jsonSerialize()',
            $value instanceof \BackedEnum => ': give its value',
            $value instanceof \Traversable => ': give iterator_to_array() of it',
            default => '',
        };
        return ["$what has no JSON text$more", []];
    }

    /** @param list<string> $path innermost first */
    private static function refuse(mixed $value, string $what, string $reason, array $path): never
    {
        if ($reason === self::TOO_DEEP) {
            $cycle = self::cycle($value, [], []);
            if ($cycle !== null) {
                [$reason, $path] = ['a cycle has no JSON text', array_reverse($cycle)];
            }
        }
        $pointer = '';
        foreach (array_reverse($path) as $token) {
            $pointer .= '/' . strtr($token, ['~' => '~0', '/' => '~1']);
        }
        $where = $pointer === '' ? '' : ' at ' . self::clean($pointer);
        throw new NotJSON("$what cannot be carried by JSON$where: $reason", $pointer);
    }

    /**
     * The way to an object that holds itself. Of arrays only those in a reference can, and those are too deep.
     *
     * @param list<string> $path
     * @param array<int, true> $above
     * @return list<string>|null
     */
    private static function cycle(mixed $value, array $path, array $above): ?array
    {
        if (!is_array($value) && !is_object($value) || count($path) > self::DEPTH) {
            return null;
        }
        if (is_object($value)) {
            if (isset($above[spl_object_id($value)])) {
                return $path;
            }
            $above[spl_object_id($value)] = true;
        }
        foreach ((array) $value as $key => $item) {
            $found = self::cycle($item, [...$path, (string) $key], $above);
            if ($found !== null) {
                return $found;
            }
        }
        return null;
    }
}
