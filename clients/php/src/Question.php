<?php

declare(strict_types=1);

namespace Playhead\Client;

/** A `respond` that has been asked. `wait` gives its answer, again and again. */
final class Question
{
    /** @var callable */
    private $produce;
    private int $ask = 0;
    private ?\stdClass $given = null;
    private ?Waiter $waiter = null;

    /** What `wait` gives, once it is known: a member `value`, or `raise`. */
    private ?\stdClass $outcome = null;

    /**
     * @param array<string, callable|class-string> $revivers
     * @param string|null $members what the question says, null in a producer, where nothing is asked
     */
    public function __construct(
        private readonly Peer $peer,
        private readonly Call $call,
        private readonly array $revivers,
        private readonly string $key,
        private readonly ?string $members,
        callable $produce,
    ) {
        $this->produce = $produce;
        if ($members === null) {
            return;
        }
        $taken = $peer->takeAnswer($call, $key, '{"m":"respond","p":{' . substr($members, 1) . '}}');
        if ($taken !== null) {
            [$this->ask, $this->given] = $taken;
        } else {
            [$this->ask, $this->waiter] = $peer->ask($call, 'respond', $members);
        }
    }

    /** The answer: what was answered, or what the producer gives if this is a recording; an error is thrown. */
    public function wait(): mixed
    {
        if ($this->members === null) {
            return ($this->produce)();
        }
        $this->outcome ??= $this->answer();
        if (isset($this->outcome->raise)) {
            throw $this->outcome->raise;
        }
        return $this->outcome->value;
    }

    private function answer(): \stdClass
    {
        $given = $this->given ?? $this->peer->wait($this->waiter);
        return match (true) {
            property_exists($given, 'value') => $given,
            isset($given->error) => (object) ['raise' => Errors::revive($given->error, $this->revivers)],
            default => $this->produced(),
        };
    }

    private function produced(): \stdClass
    {
        try {
            [$value, $text] = $this->peer->produce($this->call, function (): array {
                $made = Message::throughJson(($this->produce)(), $this->key);
                $this->peer->fits($made[1]);
                return $made;
            });
        } catch (\Throwable $original) {
            if ($this->call->cancelled) {
                throw $original;
            }
            // The handler gets what it will get on replay.
            [$error, $text] = Message::throughJson(Errors::describe($original));
            $this->peer->settle($this->call, $this->ask, ",\"error\":$text");
            return (object) ['raise' => Errors::revive($error, $this->revivers, $original)];
        }
        $this->peer->settle($this->call, $this->ask, ",\"value\":$text");
        return (object) ['value' => $value];
    }
}
