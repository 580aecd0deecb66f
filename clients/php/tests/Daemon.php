<?php

declare(strict_types=1);

namespace Playhead\Client\Tests;

/** The daemon's end of the pipes of a handler that runs in a process of its own. */
final class Daemon
{
    public const HOST = __DIR__ . '/../host.php';
    private const SECONDS = 20;

    /** @var resource */
    private $process;

    /** @var array<int, resource> */
    private array $pipes = [];

    /** @var resource */
    private $stderr;

    private int $lastId = 0;

    /** @param list<string> $command */
    public function __construct(array $command)
    {
        $this->stderr = tmpfile();
        $this->process = proc_open($command, [['pipe', 'r'], ['pipe', 'w'], $this->stderr], $this->pipes);
        stream_set_timeout($this->pipes[1], self::SECONDS);
    }

    public function __destruct()
    {
        proc_terminate($this->process, 9);
    }

    /** @param list<string> $host what starts the host */
    public static function hosting(string $file, array $capabilities = [], array $host = [PHP_BINARY, self::HOST]): self
    {
        $daemon = new self([...$host, $file]);
        $daemon->initialized($capabilities);
        return $daemon;
    }

    public function initialized(array $capabilities = []): object
    {
        $this->request('initialize', [
            'protocol' => 1,
            'daemon' => ['name' => 'playhead', 'version' => '0'],
            'capabilities' => (object) $capabilities,
            'limits' => ['frameBytes' => 64 << 20, 'depth' => 1000],
            'constants' => (object) [],
        ]);
        return $this->answer();
    }

    public function request(string $method, array $params): void
    {
        $this->say(['id' => ++$this->lastId, 'method' => $method, 'params' => (object) $params]);
    }

    public function handle(mixed $event = null, int $call = 0, ?array $window = null): void
    {
        $more = $window === null ? [] : ['window' => $window];
        $this->request('handle', ['call' => $call, 'fn' => 'handler', 'event' => $event, 'seq' => $call, ...$more]);
    }

    public function say(array $message): void
    {
        $this->raw(json_encode(['jsonrpc' => '2.0', ...$message]));
    }

    public function raw(string $line): void
    {
        fwrite($this->pipes[0], "$line\n");
    }

    /** The next line of the handler, as it came. */
    public function line(): string
    {
        $line = fgets($this->pipes[1]);
        if ($line === false) {
            throw new \RuntimeException("nothing came\n" . $this->printed());
        }
        return rtrim($line, "\n");
    }

    public function message(): object
    {
        return json_decode($this->line(), false, 512, JSON_THROW_ON_ERROR);
    }

    /** Answers the handler's next question, and gives it. */
    public function reply(mixed $result, ?array $error = null): object
    {
        $asked = $this->message();
        $this->say(['id' => $asked->id, ...($error === null ? ['result' => $result] : ['error' => $error])]);
        return $asked;
    }

    public function answer(): object
    {
        return $this->message()->result;
    }

    /**
     * Ends the input: gives what is still said, the exit status, and what came on stderr.
     *
     * @return array{string, int, string}
     */
    public function finish(): array
    {
        fclose($this->pipes[0]);
        $said = (string) stream_get_contents($this->pipes[1]);
        fclose($this->pipes[1]);
        // Its stdout has ended, so it has, or is about to.
        for ($until = time() + self::SECONDS; ($status = proc_get_status($this->process))['running']; usleep(1000)) {
            if (time() > $until) {
                throw new \RuntimeException('it does not end');
            }
        }
        return [$said, $status['exitcode'], $this->printed()];
    }

    private function printed(): string
    {
        rewind($this->stderr);
        return (string) stream_get_contents($this->stderr);
    }
}
