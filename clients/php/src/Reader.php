<?php

declare(strict_types=1);

namespace Playhead\Client;

/** The slow way in, for what json_decode cannot read. */
final class Reader
{
    private const SPACE = " \t\r\n";
    private const SIMPLE = [
        '"' => '"', '\\' => '\\', '/' => '/', 'b' => "\x08", 'f' => "\f", 'n' => "\n", 'r' => "\r", 't' => "\t",
    ];

    /** What ends a run of characters that stand for themselves; the first two have a meaning. */
    private const SPECIAL = '"\\'
        . "\x00\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e\x0f"
        . "\x10\x11\x12\x13\x14\x15\x16\x17\x18\x19\x1a\x1b\x1c\x1d\x1e\x1f";

    private int $at = 0;

    public function __construct(private readonly string $text)
    {
    }

    public function read(): mixed
    {
        if (preg_match('//u', $this->text) !== 1) {
            throw new ProtocolError('not JSON: not UTF-8');
        }
        $value = $this->value(0);
        return $this->next() === '' ? $value : $this->fail();
    }

    /** The next character that is no space, which is not taken; '' at the end. */
    private function next(): string
    {
        $this->at += strspn($this->text, self::SPACE, $this->at);
        return $this->text[$this->at] ?? '';
    }

    private function value(int $depth): mixed
    {
        if ($depth > Message::NESTING) {
            $this->fail();
        }
        switch ($this->next()) {
            case '{':
                return $this->object($depth + 1);
            case '[':
                return $this->list($depth + 1);
            case '"':
                return $this->string();
        }
        foreach (['true' => true, 'false' => false, 'null' => null] as $word => $value) {
            if (substr_compare($this->text, $word, $this->at, strlen($word)) === 0) {
                $this->at += strlen($word);
                return $value;
            }
        }
        return $this->number();
    }

    private function number(): int|float|BigInteger
    {
        $number = '/-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?/A';
        if (preg_match($number, $this->text, $found, 0, $this->at) !== 1) {
            $this->fail();
        }
        $this->at += strlen($found[0]);
        if (isset($found[1])) {
            return (float) $found[0];
        }
        $integer = (int) $found[0];
        if ($found[0] === '-0') {
            return $integer;
        }
        return (string) $integer === $found[0] ? $integer : new BigInteger($found[0]);
    }

    /** @return list<mixed> */
    private function list(int $depth): array
    {
        $found = [];
        $this->at++;
        if ($this->next() === ']') {
            $this->at++;
            return $found;
        }
        while (true) {
            $found[] = $this->value($depth);
            if ($this->another(']')) {
                return $found;
            }
        }
    }

    private function object(int $depth): \stdClass
    {
        $found = [];
        $this->at++;
        if ($this->next() === '}') {
            $this->at++;
            return new \stdClass();
        }
        while (true) {
            $key = $this->next() === '"' ? $this->string() : $this->fail();
            $this->next() === ':' ? $this->at++ : $this->fail();
            $found[$key] = $this->value($depth);
            if ($this->another('}')) {
                return (object) $found;
            }
        }
    }

    /** Takes a comma, or the end: whether it was the end. */
    private function another(string $end): bool
    {
        $found = $this->next();
        if ($found !== ',' && $found !== $end) {
            $this->fail();
        }
        $this->at++;
        return $found === $end;
    }

    private function string(): string
    {
        $found = '';
        $this->at++;
        while (true) {
            $plain = strcspn($this->text, self::SPECIAL, $this->at);
            $found .= substr($this->text, $this->at, $plain);
            $this->at += $plain;
            $letter = $this->text[$this->at] ?? $this->fail();
            $this->at++;
            if ($letter === '"') {
                return $found;
            }
            $escaped = $letter === '\\' ? $this->text[$this->at] ?? '' : '';
            $this->at++;
            $found .= $escaped === 'u' ? $this->character() : self::SIMPLE[$escaped] ?? $this->fail();
        }
    }

    private function character(): string
    {
        $code = $this->hex();
        if ($code >= 0xD800 && $code < 0xDC00 && preg_match('/\\\\u[dD][c-fC-F]/A', $this->text, $_, 0, $this->at) === 1) {
            $this->at += 2;
            $code = 0x10000 + (($code - 0xD800) << 10) + ($this->hex() - 0xDC00);
        }
        return match (true) {
            $code < 0x80 => chr($code),
            $code < 0x800 => chr(0xC0 | $code >> 6) . chr(0x80 | $code & 0x3F),
            $code < 0x10000 => chr(0xE0 | $code >> 12) . chr(0x80 | $code >> 6 & 0x3F) . chr(0x80 | $code & 0x3F),
            default => chr(0xF0 | $code >> 18) . chr(0x80 | $code >> 12 & 0x3F) . chr(0x80 | $code >> 6 & 0x3F)
                . chr(0x80 | $code & 0x3F),
        };
    }

    private function hex(): int
    {
        $digits = substr($this->text, $this->at, 4);
        if (strspn($digits, '0123456789abcdefABCDEF') !== 4) {
            $this->fail();
        }
        $this->at += 4;
        return (int) hexdec($digits);
    }

    private function fail(): never
    {
        throw new ProtocolError("not JSON at byte {$this->at}");
    }
}
