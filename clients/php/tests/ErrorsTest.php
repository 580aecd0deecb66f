<?php

declare(strict_types=1);

namespace {
    class Declined extends \RuntimeException
    {
    }

    class Wordy extends \RuntimeException
    {
        public function __construct(string $message)
        {
            parent::__construct("wordy: $message");
        }
    }
}

namespace Playhead\Client\Tests {

    use PHPUnit\Framework\TestCase;
    use Playhead\Client\CallEnded;
    use Playhead\Client\DeterminismError;
    use Playhead\Client\Errors;
    use Playhead\Client\HandlerError;
    use Playhead\Client\RecordedError;

    final class Late extends \Exception
    {
    }

    final class ErrorsTest extends TestCase
    {
        private static function revived(string $type, array $revivers = [], ?\Throwable $original = null): \Throwable
        {
            return Errors::revive((object) ['type' => $type, 'message' => 'no', 'data' => 7], $revivers, $original);
        }

        public function testAReviverComesFirstThenAClassOfThatNameThenARecordedError(): void
        {
            self::assertInstanceOf(Late::class, self::revived('Late', ['Late' => Late::class]));
            $reviver = fn($error) => new \LogicException("late: $error->message");
            self::assertSame('late: no', self::revived('Late', ['Late' => $reviver])->getMessage());
            self::assertInstanceOf(\Declined::class, self::revived('Declined'));
            self::assertInstanceOf(\TypeError::class, self::revived('TypeError'));
            self::assertInstanceOf(CallEnded::class, self::revived('CallEnded'));
            foreach (['Late', 'stdClass', 'typeerror', 'TimeoutError', 'no name', ''] as $type) {
                $error = self::revived($type);
                self::assertInstanceOf(RecordedError::class, $error);
                self::assertSame([$type, 'no', 7], [$error->type, $error->getMessage(), $error->data]);
            }
        }

        public function testAClassThatWouldSaySomethingElseDoesNotStandForIt(): void
        {
            self::assertInstanceOf(RecordedError::class, self::revived('Wordy'));
        }

        public function testTheOriginalIsThePreviousOfWhatIsMade(): void
        {
            $original = new Late('no');
            foreach (['Late', 'Declined', 'TypeError'] as $type) {
                self::assertSame($original, self::revived($type, [], $original)->getPrevious());
            }
        }

        public function testAnErrorIsDescribedByItsBareName(): void
        {
            $found = Errors::describe(new Late('now'));
            self::assertSame(['Late', 'now'], [$found->type, $found->message]);
            self::assertStringContainsString(__FILE__ . ':', $found->stack);
            self::assertSame('LogicException', Errors::describe(new class ('x') extends \LogicException {
            })->type);
            $own = Errors::describe(new HandlerError('Declined', 'no funds', [1], ['a' => 2]));
            self::assertSame(['Declined', 'no funds', [1], ['a' => 2]], [$own->type, $own->message, $own->args, $own->data]);
        }

        public function testRepliesHaveClassesOfTheirOwn(): void
        {
            $codes = [
                -32003 => 'CallEnded', -32010 => 'DeterminismError', -32012 => 'Forbidden', -32013 => 'LimitExceeded',
                -32800 => 'Cancelled', -32602 => 'ProtocolError',
            ];
            foreach ($codes as $code => $name) {
                $error = Errors::ofReply((object) ['code' => $code, 'message' => 'm']);
                self::assertSame("Playhead\\Client\\$name", $error::class);
            }
            $data = (object) ['kind' => 'order', 'message' => 'why'];
            $found = Errors::ofReply((object) ['code' => -32010, 'message' => 'm', 'data' => $data]);
            self::assertInstanceOf(DeterminismError::class, $found);
            self::assertSame(['order', 'why'], [$found->kind, $found->getMessage()]);
        }
    }
}
