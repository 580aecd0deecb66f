<?php

declare(strict_types=1);

namespace Playhead\Client;

/** Answers the daemon until the input ends. */
final class Serve
{
    public const VERSION = '0.1.0';

    private const PROTOCOL = 1;

    /** @var array<string, callable> */
    private readonly array $functions;

    private bool $initialized = false;

    /** @var callable|null */
    private $reset;

    /**
     * @param callable|array<string, callable> $handlers
     * @param array<string, mixed> $constants
     * @param array<string, callable|class-string> $revivers
     */
    public function __construct(
        private readonly Peer $peer,
        callable|array $handlers,
        private readonly string $name,
        private readonly array $constants,
        private readonly array $revivers,
        ?callable $reset,
    ) {
        $functions = is_callable($handlers) ? ['handler' => $handlers] : $handlers;
        if ($functions === []) {
            throw new \InvalidArgumentException('nothing to serve: give a handler, or [name => handler]');
        }
        foreach ($functions as $name => $function) {
            if (!is_string($name) || !is_callable($function)) {
                throw new \InvalidArgumentException("the function $name cannot be called");
            }
        }
        $this->functions = $functions;
        $this->reset = $reset;
    }

    public function run(): never
    {
        while (true) {
            $this->take($this->peer->nextMessage());
        }
    }

    private function take(\stdClass $message): void
    {
        // Notifications that come here are of calls that are over, or unknown.
        if (!isset($message->id)) {
            return;
        }
        $id = Message::write($message->id);
        $params = $message->params ?? new \stdClass();
        match (true) {
            $message->method === 'initialize' => $this->initialize($id, $params),
            !$this->initialized => $this->refuse($id, -32002, 'initialize has not been answered'),
            $message->method === 'handle' => $this->handle($id, $params),
            $message->method === 'shutdown' => $this->peer->answer($id, 'result', '{}'),
            $message->method === 'reset' && $this->reset !== null => $this->reset($id, $params),
            default => $this->refuse($id, -32601, 'no such method'),
        };
    }

    private function initialize(string $id, \stdClass $params): void
    {
        $version = $params->protocol ?? null;
        if (!is_int($version) || $version < self::PROTOCOL) {
            $this->refuse($id, -32001, 'no common protocol version', ['supported' => [self::PROTOCOL]]);
            return;
        }
        $limit = $params->limits->frameBytes ?? null;
        $this->peer->frameBytes = is_int($limit) ? $limit : $this->peer->frameBytes;
        $capabilities = [];
        foreach ($this->reset === null ? ['window'] : ['window', 'reset'] as $capability) {
            if (($params->capabilities->$capability ?? null) === true) {
                $capabilities[$capability] = true;
            }
        }
        $this->initialized = true;
        $this->peer->answer($id, 'result', Message::write([
            'protocol' => self::PROTOCOL,
            'handler' => [
                'name' => $this->name,
                'version' => self::VERSION,
                'language' => 'php',
                'runtime' => 'PHP ' . PHP_VERSION,
            ],
            'functions' => array_keys($this->functions),
            'capabilities' => (object) $capabilities,
            'constants' => (object) $this->constants,
        ]));
    }

    private function refuse(string $id, int $code, string $message, mixed $data = null): void
    {
        $error = ['code' => $code, 'message' => Message::clean($message)];
        $this->peer->answer($id, 'error', Message::write($data === null ? $error : [...$error, 'data' => $data]));
    }

    private function reset(string $id, \stdClass $params): void
    {
        $this->peer->emptyFeed();
        try {
            ($this->reset)($params->constants ?? new \stdClass());
        } catch (\Throwable $error) {
            fwrite(STDERR, "playhead client: reset: $error\n");
            $this->refuse($id, -32603, 'reset failed', ['reference' => 'stderr']);
            return;
        }
        $this->peer->answer($id, 'result', '{}');
    }

    private function handle(string $id, \stdClass $params): void
    {
        $name = $params->fn ?? '';
        $function = is_string($name) ? $this->functions[$name] ?? null : null;
        if ($function === null) {
            $this->refuse($id, -32602, 'no function named ' . json_encode($name));
            return;
        }
        if (!is_int($params->call ?? null) || !is_int($params->seq ?? null) || !property_exists($params, 'event')) {
            $this->refuse($id, -32602, 'handle has a call, a seq and an event');
            return;
        }
        $window = $params->window ?? null;
        $call = new Call($params->call, $name, $params->seq, ($window->produce ?? false) === true);
        $this->peer->open($call, $window);
        $this->peer->answer($id, 'result', $this->outcome($call, $function, $params->event), $call);
    }

    private function outcome(Call $call, callable $function, mixed $event): string
    {
        try {
            if ($call->cancelled) {
                throw new Cancelled(Peer::CANCELLED);
            }
            $output = $function($event, new Context($this->peer, $call, $this->revivers));
            $this->peer->settled($call);
            $text = $this->peer->fits('{"output":' . Message::write($output, 'the output') . '}');
        } catch (\Throwable $error) {
            $text = self::raised(Errors::describe($error));
        }
        return $call->cancelled
            ? self::raised((object) ['type' => 'Cancelled', 'message' => Peer::CANCELLED])
            : $text;
    }

    private static function raised(\stdClass $error): string
    {
        return '{"raised":' . Message::write($error) . '}';
    }
}
