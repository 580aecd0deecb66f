<?php

declare(strict_types=1);

namespace Playhead\Client;

/** What a handler is given. Everything that could differ between two runs comes from here. */
final class Context
{
    /** The event's index from 0. */
    public readonly int $seq;

    /** The daemon's number of the call. */
    public readonly int $call;

    /** The name of the function that was called. */
    public readonly string $fn;

    private readonly string $lane;
    private readonly string $nowItem;
    private readonly string $randomItem;

    /** @param array<string, callable|class-string> $revivers */
    public function __construct(
        private readonly Peer $peer,
        private readonly Call $of,
        private readonly array $revivers,
        ?string $lane = null,
    ) {
        $this->seq = $of->seq;
        $this->call = $of->number;
        $this->fn = $of->fn;
        $this->lane = $lane === null ? '' : ',"lane":' . Message::write($lane);
        $this->nowItem = self::item('now', $this->lane);
        $this->randomItem = self::item('random', $this->lane);
    }

    /** Milliseconds since the Unix epoch. */
    public function now(): int|float
    {
        if ($this->of->producing > 0) {
            return (int) (microtime(true) * 1000);
        }
        return $this->peer->take($this->of, 'now', $this->nowItem) ?? $this->scalar('now', $this->lane);
    }

    /** Milliseconds of a clock that never goes back. */
    public function monotonic(): int|float
    {
        return $this->of->producing > 0 ? hrtime(true) / 1e6 : $this->scalar('now', ',"clock":"monotonic"' . $this->lane);
    }

    /** A number in [0, 1). */
    public function random(): int|float
    {
        if ($this->of->producing > 0) {
            return random_int(0, (1 << 53) - 1) / (1 << 53);
        }
        return $this->peer->take($this->of, 'random', $this->randomItem) ?? $this->scalar('random', $this->lane);
    }

    /** An integer from low to high, both included. */
    public function randint(int $low, int $high): int
    {
        return $this->of->producing > 0
            ? random_int($low, $high)
            : (int) $this->scalar('random', ",\"draw\":\"int\",\"low\":$low,\"high\":$high{$this->lane}");
    }

    /** n bytes. */
    public function randbytes(int $n): string
    {
        return $this->of->producing > 0
            ? random_bytes($n)
            : (string) hex2bin($this->scalar('random', ",\"draw\":\"bytes\",\"n\":$n{$this->lane}"));
    }

    /**
     * k different items of an array, or of anything that can be iterated; of an integer n, k different numbers below n.
     *
     * @param int|iterable<mixed> $items
     * @return list<mixed>
     */
    public function sample(int|iterable $items, int $k): array
    {
        $from = is_int($items) ? null : [...$items];
        $from = $from === null ? null : array_values($from);
        $n = $from === null ? $items : count($from);
        $positions = $this->of->producing > 0
            ? self::livePositions($n, $k)
            : $this->scalar('random', ",\"draw\":\"sample\",\"n\":$n,\"k\":$k{$this->lane}");
        return $from === null ? $positions : array_map(static fn(int $position) => $from[$position], $positions);
    }

    /** A UUID of version 4. */
    public function uuid(): string
    {
        $bytes = $this->randbytes(16);
        $bytes[6] = chr(ord($bytes[6]) & 0x0F | 0x40);
        $bytes[8] = chr(ord($bytes[8]) & 0x3F | 0x80);
        return vsprintf('%s%s-%s-%s-%s-%s%s%s', str_split(bin2hex($bytes), 4));
    }

    /**
     * What the outside world answers: on record what the producer returns or throws, on replay what the tape holds.
     *
     * @param list<mixed> $args
     * @param array<string, mixed> $kwargs
     */
    public function respond(string $key, callable $produce, array $args = [], array $kwargs = []): mixed
    {
        return $this->start($key, $produce, $args, $kwargs)->wait();
    }

    /**
     * The first half of `respond`: the question is out when this returns. The producer runs in `wait` of what it gives.
     *
     * @param list<mixed> $args
     * @param array<string, mixed> $kwargs
     */
    public function start(string $key, callable $produce, array $args = [], array $kwargs = []): Question
    {
        if ($this->of->producing > 0) {
            return new Question($this->peer, $this->of, $this->revivers, $key, null, $produce);
        }
        $members = ',"key":' . Message::write($key);
        $members .= $args === [] ? '' : ',"args":' . Message::write(array_values($args), 'args');
        $members .= $kwargs === [] ? '' : ',"kwargs":' . Message::write((object) $kwargs, 'kwargs');
        $members = $this->peer->fits($members . $this->lane);
        return new Question($this->peer, $this->of, $this->revivers, $key, $members, $produce);
    }

    /** Says something about what the handler does. */
    public function note(string $name, mixed $data = null): void
    {
        $this->tell('note', ',"name":' . Message::write($name) . self::member('data', $data));
    }

    /** Says what the handler believes about the world. */
    public function observe(string $name, mixed $value): void
    {
        $this->tell('observe', ',"name":' . Message::write($name) . ',"value":' . Message::write($value, $name));
    }

    /** A piece of work begins, and ends with `end(outcome)` of what this gives. */
    public function span(string $name, mixed $data = null): Span
    {
        $about = ',"name":' . Message::write($name);
        $sid = ++$this->of->spans;
        $this->tell('span', ",\"sid\":$sid,\"phase\":\"begin\"$about" . self::member('data', $data));
        return new Span(fn(mixed $outcome) => $this->tell(
            'span',
            ",\"sid\":$sid,\"phase\":\"end\"$about" . self::member('outcome', $outcome),
        ));
    }

    /** Says that something outside the tape was reached. */
    public function escaped(string $key, ?string $where = null): void
    {
        $this->tell('escaped', ',"key":' . Message::write($key) . self::member('where', $where));
    }

    /** The same context for a task that asks at its own pace: its questions have an order among themselves only. */
    public function lane(string $name): self
    {
        return new self($this->peer, $this->of, $this->revivers, $name);
    }

    private function scalar(string $method, string $members): mixed
    {
        return $this->peer->wait($this->peer->ask($this->of, $method, $members)[1]);
    }

    /** In a producer nothing is sent. */
    private function tell(string $method, string $members): void
    {
        if ($this->of->producing === 0) {
            $this->peer->tell($this->of, $method, $this->peer->fits($members . $this->lane));
        }
    }

    private static function item(string $method, string $members): string
    {
        return $members === '' ? "{\"m\":\"$method\"}" : "{\"m\":\"$method\",\"p\":{" . substr($members, 1) . '}}';
    }

    private static function member(string $name, mixed $value): string
    {
        return $value === null ? '' : ",\"$name\":" . Message::write($value, $name);
    }

    /** @return list<int> */
    private static function livePositions(int $n, int $k): array
    {
        if ($k > $n) {
            throw new \ValueError("$k of $n cannot be drawn");
        }
        $positions = [];
        while (count($positions) < $k) {
            $positions[random_int(0, $n - 1)] = true;
        }
        return array_keys($positions);
    }
}
