<?php

declare(strict_types=1);

namespace Playhead\Client\Tests;

use PHPUnit\Framework\TestCase;

require_once __DIR__ . '/Daemon.php';

/** Real processes over real pipes. What every client has to do is in the conversations of protocol/vectors. */
final class ServingTest extends TestCase
{
    private string $file;

    protected function setUp(): void
    {
        $this->file = tempnam(sys_get_temp_dir(), 'handler');
    }

    protected function tearDown(): void
    {
        unlink($this->file);
    }

    private function written(string $source): string
    {
        file_put_contents($this->file, "<?php\n$source");
        return $this->file;
    }

    private function hosting(string $source, array $capabilities = []): Daemon
    {
        return Daemon::hosting($this->written($source), $capabilities);
    }

    public function testWhatTheWindowGaveIsReportedToTheByteBeforeTheAnswer(): void
    {
        $daemon = $this->hosting('return fn($event, $ctx) => [$ctx->now(), $ctx->random(),
            $ctx->respond("account", fn() => throw new Exception(), args: [$event], kwargs: ["deep" => true])];', ['window' => true]);
        $daemon->handle('A1', 0, ['now' => [5], 'random' => [0.5], 'respond' => ['account' => [['value' => (object) []]]]]);
        self::assertSame(
            '{"jsonrpc":"2.0","method":"asked","params":{"call":0,"asks":[{"m":"now"},{"m":"random"},'
                . '{"m":"respond","p":{"key":"account","args":["A1"],"kwargs":{"deep":true}}}]}}',
            $daemon->line(),
        );
        self::assertSame('{"jsonrpc":"2.0","id":2,"result":{"output":[5,0.5,{}]}}', $daemon->line());
    }

    public function testAProducersErrorComesBackAsTheClassOfItsNameWithTheOriginalAsItsPrevious(): void
    {
        $daemon = $this->hosting('class Declined extends Exception {}
            return function ($event, $ctx) {
                try {
                    $ctx->respond("a", fn() => throw new Declined("no funds"));
                } catch (Declined $e) {
                    return [$e->getMessage(), $e->getPrevious()::class, $e === $e->getPrevious()];
                }
            };');
        $daemon->handle();
        $daemon->reply(['produce' => true]);
        $error = $daemon->reply((object) [])->params->error;
        self::assertSame(['Declined', 'no funds'], [$error->type, $error->message]);
        self::assertSame(['no funds', 'Declined', false], $daemon->answer()->output);
    }

    public function testAnErrorOfTheTapeComesByTheFilesReviver(): void
    {
        $daemon = $this->hosting('namespace Bank; class Declined extends \Exception {}
            $revivers = ["Declined" => Declined::class];
            return function ($event, $ctx) {
                try {
                    return $ctx->respond("a", fn() => null);
                } catch (Declined $e) {
                    return $e->getMessage();
                }
            };');
        $daemon->handle();
        $daemon->reply(['error' => ['type' => 'Declined', 'message' => 'no funds']]);
        self::assertSame('no funds', $daemon->answer()->output);
    }

    public function testASettlementThatIsRefusedFailsTheNextQuestionOrTheReturn(): void
    {
        $daemon = $this->hosting('function handler($event, $ctx) {
                $a = $ctx->respond("a", fn() => 1);
                try {
                    return $event ? $ctx->now() : $a;
                } catch (Playhead\Client\Forbidden $e) {
                    return [$a, $e->getMessage()];
                }
            }');
        foreach ([true, false] as $call => $asks) {
            $daemon->handle($asks, $call);
            $daemon->reply(['produce' => true]);
            $daemon->reply(null, ['code' => -32012, 'message' => 'forbidden']);
            if ($asks) {
                $daemon->reply(5);
                self::assertSame([1, 'forbidden'], $daemon->answer()->output);
            } else {
                self::assertSame('Forbidden', $daemon->answer()->raised->type);
            }
        }
    }

    public function testAValueHasBeenThroughJsonOnRecordToo(): void
    {
        $daemon = $this->hosting('return fn($e, $ctx) => get_debug_type($ctx->respond("a", fn() => ["b" => 1]));');
        $daemon->handle();
        $daemon->reply(['produce' => true]);
        $daemon->reply((object) []);
        self::assertSame('stdClass', $daemon->answer()->output);
    }

    public function testWhatAProducerGivesThatJsonCannotCarryIsSettledAsAnError(): void
    {
        $daemon = $this->hosting('return fn($e, $ctx) => $ctx->respond("a", fn() => [new ArrayObject()]);');
        $daemon->handle();
        $daemon->reply(['produce' => true]);
        self::assertSame('NotJSON', $daemon->reply((object) [])->params->error->type);
        self::assertStringContainsString('/0', $daemon->answer()->raised->message);
    }

    public function testACancelOfACallWhoseProducerRanOnCountsWhenItAsksAgain(): void
    {
        $daemon = $this->hosting('return fn($e, $ctx) => [$ctx->respond("a", fn() => 1), $ctx->now()];');
        $daemon->handle();
        $daemon->reply(['produce' => true]);
        $settled = $daemon->message();
        self::assertSame('respond.settle', $settled->method);
        $daemon->say(['method' => 'cancel', 'params' => ['call' => 0]]);
        $daemon->say(['id' => $settled->id, 'error' => ['code' => -32800, 'message' => 'cancelled']]);
        $daemon->reply(null, ['code' => -32800, 'message' => 'cancelled']);
        self::assertSame('Cancelled', $daemon->answer()->raised->type);
    }

    /** @dataProvider waysToStart */
    public function testNothingThatIsPrintedReachesStdoutAndNothingIsThereToRead(array $host, bool $constants): void
    {
        $daemon = Daemon::hosting($this->written('echo "loading\n";
            return function ($event, $ctx) {
                print "a";
                if ($event) { fwrite(STDOUT, "b"); }
                file_put_contents("php://stdout", "c");
                file_put_contents("php://output", "d\n");
                passthru("cat; echo e");
                system("echo f >/dev/fd/1");
                trigger_error("careful", E_USER_WARNING);
                return [file_get_contents("php://stdin"), $event ? stream_get_contents(STDIN) : ""];
            };'), [], $host);
        $daemon->handle($constants);
        self::assertSame(['', ''], $daemon->answer()->output);
        [$said, $status, $printed] = $daemon->finish();
        self::assertSame(['', 0], [$said, $status]);
        foreach (['loading', $constants ? 'abcd' : 'acd', 'e', 'f', 'careful'] as $text) {
            self::assertStringContainsString($text, $printed);
        }
    }

    public static function waysToStart(): array
    {
        $shell = ['sh', '-c', 'exec 3<&0 4>&1 </dev/null >&2; exec "$0" "$@"'];
        return [
            'as PHP is' => [[PHP_BINARY, Daemon::HOST], extension_loaded('ffi')],
            'without FFI' => [[PHP_BINARY, '-n', Daemon::HOST], false],
            'behind a shell' => [[...$shell, PHP_BINARY, Daemon::HOST, '--streams', '3,4'], true],
            'behind a shell, without FFI' => [[...$shell, PHP_BINARY, '-n', Daemon::HOST, '--streams', '3,4'], true],
        ];
    }

    /**
     * @requires extension ffi
     * @testWith ["as PHP is"]
     *           ["behind a shell"]
     */
    public function testWithFfiNoChildInheritsThePipes(string $way): void
    {
        [$host] = self::waysToStart()[$way];
        $daemon = Daemon::hosting($this->written('return fn() => (int) exec("sleep 60 >/dev/null 2>&1 & echo $!");'), [], $host);
        $daemon->handle();
        $child = $daemon->answer()->output;
        try {
            // Which would wait for the child if it held the other end.
            self::assertSame(['', 0, ''], $daemon->finish());
            self::assertFileExists("/proc/$child");
        } finally {
            exec("kill $child");
        }
    }

    public function testAFileMayHaveSeveralFunctionsConstantsAndAReset(): void
    {
        $daemon = new Daemon([PHP_BINARY, Daemon::HOST, $this->written('$count = 0;
            $constants = ["rate" => 2];
            $reset = function ($constants) use (&$count) { $count = $constants->from; };
            return ["handler" => function () use (&$count) { return ++$count; }, "double" => fn($event) => $event * 2];')]);
        $told = $daemon->initialized(['reset' => true]);
        self::assertSame(['handler', 'double'], $told->functions);
        self::assertEquals([(object) ['reset' => true], (object) ['rate' => 2]], [$told->capabilities, $told->constants]);
        $daemon->handle();
        self::assertSame(1, $daemon->answer()->output);
        $daemon->request('reset', ['constants' => ['from' => 10]]);
        self::assertEquals((object) [], $daemon->answer());
        $daemon->handle(null, 1);
        self::assertSame(11, $daemon->answer()->output);
    }

    /** @dataProvider unserved */
    public function testAFileThatCannotBeServedIsToldInAFewWords(string $source, string $words): void
    {
        [$said, $status, $printed] = (new Daemon([PHP_BINARY, Daemon::HOST, $this->written($source)]))->finish();
        self::assertSame(['', 1], [$said, $status]);
        self::assertStringContainsString($words, $printed);
        self::assertStringNotContainsString('Stack trace', $printed);
    }

    public static function unserved(): array
    {
        return [
            ['function handler(', 'ParseError'],
            ['throw new Exception("not today");', 'not today'],
            ['return ["a" => 1];', 'the function a cannot be called'],
            ['$x = 1;', 'has no handler'],
        ];
    }

    public function testWhatTheTapeDoesNotKnowIsAnErrorOfItsOwn(): void
    {
        $daemon = $this->hosting('return function ($event, $ctx) {
                try {
                    return $ctx->now();
                } catch (Playhead\Client\DeterminismError $e) {
                    return $e->kind;
                }
            };');
        $daemon->handle();
        $daemon->reply(null, ['code' => -32010, 'message' => 'no', 'data' => ['kind' => 'exhausted', 'message' => 'why']]);
        self::assertSame('exhausted', $daemon->answer()->output);
    }

    /** @dataProvider unreadable */
    public function testAFrameThatCannotBeReadIsToldOnBothSidesAndEndsTheProcess(string $line, int $code): void
    {
        $daemon = $this->hosting('return fn($event, $ctx) => $ctx->now();');
        $daemon->handle();
        $daemon->line();
        $daemon->raw($line);
        $told = $daemon->message();
        self::assertSame([null, $code], [$told->id, $told->error->code]);
        [$said, $status, $printed] = $daemon->finish();
        self::assertSame(['', 1], [$said, $status]);
        self::assertStringContainsString('a frame cannot be read', $printed);
    }

    public static function unreadable(): array
    {
        return [
            ['what?', -32700],
            ["\xff", -32700],
            ['[1]', -32600],
            ['{"jsonrpc":"2.0","id":2.5,"method":"shutdown","params":{}}', -32600],
        ];
    }

    public function testAReadingWithAFractionStaysAsItIs(): void
    {
        $daemon = $this->hosting('return fn($event, $ctx) => $ctx->now();');
        $daemon->handle();
        $daemon->reply(1783036800000.5);
        self::assertSame('{"jsonrpc":"2.0","id":2,"result":{"output":1783036800000.5}}', $daemon->line());
    }

    public function testAHandleThatLacksSomethingIsRefused(): void
    {
        $daemon = $this->hosting('return fn() => 1;');
        $lacking = ['{}', '[1]', '{"fn":"handler"}', '{"call":0,"seq":0,"event":1}', '{"fn":"handler","call":0,"event":1}'];
        foreach ($lacking as $params) {
            $daemon->raw("{\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"handle\",\"params\":$params}");
            self::assertSame(-32602, $daemon->message()->error->code);
        }
    }

    public function testWhyAResetFailedIsToldOnStderrAlone(): void
    {
        $daemon = $this->hosting('$reset = fn() => throw new RuntimeException("still busy");
            return fn() => 1;', ['reset' => true]);
        $daemon->request('reset', ['constants' => []]);
        $error = $daemon->message()->error;
        self::assertSame([-32603, 'reset failed'], [$error->code, $error->message]);
        self::assertStringContainsString('still busy', $daemon->finish()[2]);
    }

    public function testAnOutputLargerThanAFrameIsAnError(): void
    {
        $daemon = $this->hosting('return fn() => str_repeat("x", 64 << 20);');
        $daemon->handle();
        self::assertSame('LimitExceeded', $daemon->answer()->raised->type);
    }
}
