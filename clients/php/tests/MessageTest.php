<?php

declare(strict_types=1);

namespace Playhead\Client\Tests;

use PHPUnit\Framework\TestCase;
use Playhead\Client\BigInteger;
use Playhead\Client\Message;
use Playhead\Client\NotJSON;
use Playhead\Client\ProtocolError;

final class MessageTest extends TestCase
{
    private const HALF = "\xED\xA0\xBD"; // U+D83D, as UTF-8 would have it

    private static function nested(int $levels): array
    {
        $found = [];
        for ($level = 1; $level < $levels; $level++) {
            $found = [$found];
        }
        return $found;
    }

    public function testWhatIsReadIsWrittenAsItWas(): void
    {
        $texts = [
            '{}', '[]', '{"a":{},"b":[]}', 'null', '""', '{"0":1,"1":2}', '{"":0}', '9007199254740993',
            '9223372036854775807', '-9223372036854775808', '9223372036854775808', '-18446744073709551617',
            '[1234567890123456789012345678901,"12345678901234567890"]', '4.0', '0.1', '-2.5', '5.0e-324',
            '1.7976931348623157e+308', '[0.1234567890123456789e1]', "\"</\u{e9}\u{2028}\u{1f600}\"", '"\ud83d"',
            '"a\udc00b"', '{"\ud800":"\udfff\ud800"}', '["\u0000",true,false]', '{"\u0000a":1,"b":{"\u0000":{}}}',
        ];
        foreach ($texts as $text) {
            $written = $text === '[0.1234567890123456789e1]' ? '[1.2345678901234567]' : $text;
            self::assertSame($written, Message::write(Message::read($text)));
        }
    }

    public function testAnObjectIsNoListEvenWhenItIsEmpty(): void
    {
        self::assertEquals(new \stdClass(), Message::read('{}'));
        self::assertSame([], Message::read('[]'));
        self::assertSame('{"a":{},"b":[]}', Message::write(['a' => new \stdClass(), 'b' => []]));
    }

    public function testNumbersKeepTheirKind(): void
    {
        self::assertSame([100.0, 4.0, 4, PHP_INT_MAX], Message::read('[1e2,4.0,4,9223372036854775807]'));
        self::assertEquals(new BigInteger('9223372036854775808'), Message::read('9223372036854775808'));
        self::assertSame('[12345678901234567890]', Message::write([new BigInteger('12345678901234567890')]));
    }

    public function testTwoEscapesAreOneCharacterAlsoBesideHalfAOne(): void
    {
        self::assertSame(
            ["\u{1f600}", "A\"\\/\x08\f\n\r\t\u{e9}" . self::HALF, "\u{7ff}\u{ffff}"],
            Message::read('["\ud83d\ude00","\u0041\"\\\\\/\b\f\n\r\t\u00e9\uD83D","\u07ff\uffff"]'),
        );
        self::assertEquals(
            [1, -2500.0, true, false, null, [], (object) [], (object) ['a' => self::HALF . 'A']],
            Message::read(' [ 1 , -2.5e3,true,false,null,[ ],{ },{ "a" : "\ud83d\u0041" } ] '),
        );
    }

    /** @dataProvider refused */
    public function testWhatJsonCannotCarryIsRefusedWithItsPlace(mixed $value, string $pointer, string $reason): void
    {
        try {
            Message::write($value);
            self::fail('it was carried');
        } catch (NotJSON $error) {
            self::assertSame($pointer, $error->pointer);
            self::assertStringContainsString($reason, $error->getMessage());
            self::assertStringContainsString($pointer, $error->getMessage());
        }
    }

    public static function refused(): array
    {
        return [
            [['items' => [1, NAN]], '/items/1', 'NAN is not finite'],
            [[-INF], '/0', '-INF is not finite'],
            [['a/b' => (object) ['~' => fn() => 1]], '/a~1b/~0', 'an object of Closure'],
            [['k' => "\xFF"], '/k', 'not UTF-8'],
            [['t' => new \DateTimeImmutable('@0')], '/t', 'an object of DateTimeImmutable'],
            [['f' => STDERR], '/f', 'resource'],
            [['i' => new BigInteger(str_repeat('9', 400))], '/i', 'beyond the largest float64'],
            [['m' => new \ArrayObject()], '/m', 'iterator_to_array'],
            [["\xFF" => 1], '', 'in a key'],
        ];
    }

    public function testAThousandLevelsAreCarriedAndOneMoreIsNot(): void
    {
        $text = Message::write(self::nested(1000));
        self::assertSame($text, Message::write(Message::read($text)));
        $this->expectException(NotJSON::class);
        $this->expectExceptionMessage('deeper than 1000 levels');
        Message::write(self::nested(1001));
    }

    public function testACycleIsNamedWhereItCloses(): void
    {
        $cycle = (object) ['a' => [1]];
        $cycle->a[] = $cycle;
        try {
            Message::write(['x' => $cycle]);
            self::fail('it was carried');
        } catch (NotJSON $error) {
            self::assertSame('/x/a/1', $error->pointer);
            self::assertStringContainsString('cycle', $error->getMessage());
        }
    }

    /** @dataProvider noJson */
    public function testWhatIsNoJsonIsRefused(string $text): void
    {
        $this->expectException(ProtocolError::class);
        Message::read($text);
    }

    public static function noJson(): array
    {
        $texts = ['', '{', '[1,]', '{"a"}', '"\ud83d', '["\ud83d"] x', 'nope', '01', '"\x"', '"\ud83dx', "\"\n\"", "\"\xFF\""];
        return array_map(fn(string $text) => [$text], $texts);
    }
}
