<?php

declare(strict_types=1);

namespace Playhead\Client;

/**
 * One end of the conversation: questions go out, and whoever waits reads, and keeps what is for others.
 *
 * Left out: what the requests mean (Serve), what is asked (Context).
 */
final class Peer
{
    public const CANCELLED = 'the call was cancelled';

    /** What a frame has around what is in it. */
    private const AROUND_BYTES = 256;

    public int $frameBytes = Framing::LARGEST;

    private readonly Framing $frames;
    private int $lastId = 0;

    /** @var array<int, Waiter> */
    private array $waiting = [];

    /** @var \SplQueue<\stdClass> */
    private \SplQueue $queue;

    /** @var array<int, true> calls that wait and were cancelled */
    private array $givenUp = [];

    /** What goes out in one write. */
    private string $kept = '';

    private ?Call $current = null;

    /** @var array{now: \SplQueue<int|float>, random: \SplQueue<int|float>} */
    private array $feed;

    /** @var array<string, \SplQueue<\stdClass>> */
    private array $answers;

    private readonly \stdClass $produceHere;

    /**
     * @param resource $input
     * @param resource $output
     */
    public function __construct($input, private $output)
    {
        $this->frames = new Framing($input);
        $this->queue = new \SplQueue();
        $this->produceHere = (object) ['produce' => true];
        $this->emptyFeed();
    }

    /**
     * Sends a question of a call. What it gives: its number, and what to `wait` for.
     *
     * @return array{int, Waiter}
     */
    public function ask(Call $call, string $method, string $members): array
    {
        $this->report($call);
        [$id, $waiter] = $this->beginRequest($call, false);
        $ask = $call->asks++;
        $this->kept .= "{\"jsonrpc\":\"2.0\",\"id\":$id,\"method\":\"$method\",\"params\":"
            . "{\"call\":{$call->number},\"ask\":$ask$members}}\n";
        $this->flush();
        return [$ask, $waiter];
    }

    /** The result of a question; throws what its error stands for. */
    public function wait(Waiter $waiter): mixed
    {
        while ($waiter->message === null) {
            $this->step();
        }
        $this->throwFailure($waiter->call);
        if (isset($waiter->message->error)) {
            throw Errors::ofReply($waiter->message->error);
        }
        return $waiter->message->result ?? null;
    }

    /** The first value that was sent ahead for now or random, null where there is none. `item` is what to report. */
    public function take(Call $call, string $lane, string $item): int|float|null
    {
        if ($call->over || $call->cancelled || $this->feed[$lane]->isEmpty()) {
            return null;
        }
        $this->note($call, $item);
        return $this->feed[$lane]->dequeue();
    }

    /**
     * The answer to a respond that was sent ahead, and its number; {"produce": true} where the window says so. null: ask.
     *
     * @return array{int, \stdClass}|null
     */
    public function takeAnswer(Call $call, string $key, string $item): ?array
    {
        if ($call->over || $call->cancelled) {
            return null;
        }
        $answers = $this->answers[$key] ?? null;
        if ($answers !== null && !$answers->isEmpty()) {
            return [$this->note($call, $item), $answers->dequeue()];
        }
        return $call->produce ? [$this->note($call, $item), $this->produceHere] : null;
    }

    /** Runs a producer. In a call that was cancelled it counts for nothing. */
    public function produce(Call $call, callable $producer): mixed
    {
        $this->report($call);
        $this->flush();
        $this->throwCancelled($call);
        $call->producing++;
        try {
            return $producer();
        } finally {
            $call->producing--;
            $this->throwCancelled($call);
        }
    }

    /** Tells what a producer gave. Nobody waits for the reply: where it is an error, the call's next question fails. */
    public function settle(Call $call, int $ask, string $members): void
    {
        if ($call->produce) {
            $call->taken[] = "{\"m\":\"respond.settle\",\"p\":{\"ask\":$ask$members}}";
            return;
        }
        $this->report($call);
        [$id] = $this->beginRequest($call, true);
        $call->unsettled++;
        $this->kept .= "{\"jsonrpc\":\"2.0\",\"id\":$id,\"method\":\"respond.settle\",\"params\":"
            . "{\"call\":{$call->number},\"ask\":$ask$members}}\n";
        $this->flush();
    }

    /** A notification of a call. */
    public function tell(Call $call, string $method, string $members): void
    {
        $this->report($call);
        $this->kept .= "{\"jsonrpc\":\"2.0\",\"method\":\"$method\",\"params\":{\"call\":{$call->number}$members}}\n";
        $this->flush();
    }

    /** Refuses what no frame can hold. */
    public function fits(string $text): string
    {
        if (strlen($text) < $this->frameBytes - self::AROUND_BYTES) {
            return $text;
        }
        throw new LimitExceeded(strlen($text) . " bytes, and a frame has {$this->frameBytes} at most");
    }

    /** The daemon's next request or notification. */
    public function nextMessage(): \stdClass
    {
        while ($this->queue->isEmpty()) {
            $this->step();
        }
        return $this->queue->dequeue();
    }

    /** From here on until its answer the call is the one that runs. Its window's values are added to what is there. */
    public function open(Call $call, ?\stdClass $window): void
    {
        $this->current = $call;
        $call->cancelled = isset($this->givenUp[$call->number]);
        unset($this->givenUp[$call->number]);
        foreach (['now', 'random'] as $lane) {
            foreach ($window->$lane ?? [] as $value) {
                $this->feed[$lane]->enqueue($value);
            }
        }
        foreach ((array) ($window->respond ?? []) as $key => $answers) {
            $this->answers[$key] ??= new \SplQueue();
            foreach ($answers as $answer) {
                $this->answers[$key]->enqueue($answer);
            }
        }
    }

    /** Waits until every settlement of the call has been taken. */
    public function settled(Call $call): void
    {
        while ($call->unsettled > 0) {
            $this->step();
        }
        $this->throwFailure($call);
    }

    /** Answers the daemon's request, with the call that it opened if it did. */
    public function answer(string $id, string $member, string $text, ?Call $call = null): void
    {
        if ($call !== null) {
            $this->report($call);
            $call->over = true;
            $this->current = null;
        }
        $this->kept .= "{\"jsonrpc\":\"2.0\",\"id\":$id,\"$member\":$text}\n";
        $this->flush();
    }

    public function emptyFeed(): void
    {
        $this->feed = ['now' => new \SplQueue(), 'random' => new \SplQueue()];
        $this->answers = [];
    }

    /** @return array{int, Waiter} */
    private function beginRequest(Call $call, bool $settles): array
    {
        $id = ++$this->lastId;
        return [$id, $this->waiting[$id] = new Waiter($call, $settles)];
    }

    private function note(Call $call, string $item): int
    {
        $call->taken[] = $item;
        return $call->asks++;
    }

    private function report(Call $call): void
    {
        if ($call->taken !== []) {
            $asks = implode(',', $call->taken);
            $this->kept .= "{\"jsonrpc\":\"2.0\",\"method\":\"asked\",\"params\":{\"call\":{$call->number},\"asks\":[$asks]}}\n";
            $call->taken = [];
        }
    }

    private function flush(): void
    {
        $rest = $this->kept;
        $this->kept = '';
        while ($rest !== '') {
            $written = @fwrite($this->output, $rest);
            if ($written === false) {
                $this->leave();
            }
            $rest = substr($rest, $written);
        }
    }

    private function throwFailure(Call $call): void
    {
        if ($call->failure !== null) {
            [$failure, $call->failure] = [$call->failure, null];
            throw $failure;
        }
    }

    private function throwCancelled(Call $call): void
    {
        if ($call->cancelled) {
            throw new Cancelled(self::CANCELLED);
        }
    }

    /** Reads and takes in one frame. */
    private function step(): void
    {
        try {
            $line = $this->frames->next() ?? $this->leave();
            $message = Message::read($line);
        } catch (ProtocolError $error) {
            $this->giveUp(-32700, 'the frame is not one JSON text', $error->getMessage());
        }
        if (!$message instanceof \stdClass) {
            $this->giveUp(-32600, 'the frame is not a JSON-RPC 2.0 message', 'a frame is no object');
        }
        if (isset($message->method) && !self::asks($message)) {
            $this->giveUp(-32600, 'the frame is not a JSON-RPC 2.0 message', 'a method is a string, an id that or an integer');
        }
        if (isset($message->params) && !$message->params instanceof \stdClass) {
            unset($message->params);
        }
        match ($message->method ?? null) {
            null => $this->takeReply($message),
            'cancel' => $this->cancel($message->params->call ?? null),
            'withdraw' => $this->withdraw(),
            default => $this->queue->enqueue($message),
        };
    }

    private static function asks(\stdClass $message): bool
    {
        $id = property_exists($message, 'id') ? $message->id : 0;
        return is_string($message->method) && (is_int($id) || is_string($id) || $id instanceof BigInteger);
    }

    /** Nothing can be said about a conversation that is no longer one. */
    private function giveUp(int $code, string $message, string $why): never
    {
        $this->kept .= "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":$code,\"message\":\"$message\"}}\n";
        $this->flush();
        fwrite(STDERR, "playhead client: a frame cannot be read: $why\n");
        exit(1);
    }

    private function takeReply(\stdClass $message): void
    {
        $id = $message->id ?? null;
        $waiter = is_int($id) ? $this->waiting[$id] ?? null : null;
        if ($waiter === null) {
            return;
        }
        unset($this->waiting[$id]);
        if ($waiter->settles) {
            $waiter->call->unsettled--;
            if (isset($message->error)) {
                $waiter->call->failure ??= Errors::ofReply($message->error);
            }
        }
        $waiter->message = $message;
    }

    private function cancel(mixed $number): void
    {
        if ($this->current !== null && $this->current->number === $number) {
            $this->current->cancelled = true;
        }
        foreach ($this->queue as $message) {
            if ($message->method === 'handle' && ($message->params->call ?? null) === $number) {
                $this->givenUp[$number] = true;
            }
        }
    }

    private function withdraw(): void
    {
        $this->emptyFeed();
        foreach ($this->queue as $message) {
            $window = $message->params->window ?? null;
            unset($window->now, $window->random, $window->respond);
        }
    }

    /** At the end of input: nothing is waited for. */
    private function leave(): never
    {
        exit(0);
    }
}
