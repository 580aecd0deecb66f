<?php

declare(strict_types=1);

namespace Playhead\Client;

/**
 * Errors as data, `E`, both ways.
 *
 * `E` is {"type", "message", "args"?, "data"?, "stack"?}, `type` the bare class name. `describe` makes one of a
 * Throwable, `revive` makes a Throwable of one. Nothing here reads or writes.
 */
final class Errors
{
    private const BY_CODE = [
        -32003 => CallEnded::class,
        -32800 => Cancelled::class,
        -32012 => Forbidden::class,
        -32013 => LimitExceeded::class,
    ];

    private const OWN = [
        'NotJSON', 'DeterminismError', 'CallEnded', 'Cancelled', 'Forbidden', 'LimitExceeded', 'ProtocolError',
    ];

    private const STACK_LINES = 10;

    /** The exception for the `error` member of a reply to a question of the context. */
    public static function ofReply(object $error): \Exception
    {
        $code = $error->code ?? null;
        $message = (string) ($error->message ?? '');
        if ($code === -32010) {
            $data = $error->data ?? null;
            return new DeterminismError(
                (string) ($data->message ?? $message),
                (string) ($data->kind ?? 'question'),
            );
        }
        $class = is_int($code) ? self::BY_CODE[$code] ?? null : null;
        return $class === null ? new ProtocolError("$message ($code)") : new $class($message);
    }

    /**
     * The exception for `E`: by its registered reviver, else of a class of that name, else RecordedError.
     *
     * @param array<string, callable|class-string> $revivers
     * @param \Throwable|null $original what a producer raised here: it becomes the `previous` of what is made
     */
    public static function revive(object $error, array $revivers = [], ?\Throwable $original = null): \Throwable
    {
        $type = (string) $error->type;
        $message = (string) $error->message;
        $made = self::made($revivers[$type] ?? self::known($type), $error, $message);
        $args = $error->args ?? null;
        $made ??= new RecordedError($type, $message, is_array($args) ? $args : null, $error->data ?? null);
        if ($original !== null && $made->getPrevious() === null) {
            $of = $made instanceof \Exception ? \Exception::class : \Error::class;
            (new \ReflectionProperty($of, 'previous'))->setValue($made, $original);
        }
        return $made;
    }

    /** `E` for what left the handler or a producer, its text ready for the wire. */
    public static function describe(\Throwable $error): \stdClass
    {
        $own = $error instanceof HandlerError;
        $found = (object) [
            'type' => $own ? $error->type : self::bareName($error),
            'message' => Message::clean($error->getMessage()),
        ];
        foreach ($own ? ['args', 'data'] : [] as $name) {
            if ($error->$name !== null && $error->$name !== [] && self::isCarried($error->$name)) {
                $found->$name = $error->$name;
            }
        }
        $stack = self::stack($error);
        if ($stack !== '') {
            $found->stack = $stack;
        }
        return $found;
    }

    private static function bareName(\Throwable $error): string
    {
        $class = $error::class;
        while (str_contains($class, '@anonymous')) {
            $class = get_parent_class($class) ?: 'Exception';
        }
        return substr((string) strrchr("\\$class", '\\'), 1);
    }

    private static function isCarried(mixed $value): bool
    {
        try {
            Message::write($value);
            return true;
        } catch (NotJSON) {
            return false;
        }
    }

    /** Where it was thrown and what had called it, without what is the client's. */
    private static function stack(\Throwable $error): string
    {
        $lines = [];
        foreach ([['file' => $error->getFile(), 'line' => $error->getLine()], ...$error->getTrace()] as $frame) {
            if (isset($frame['file']) && !str_starts_with($frame['file'], __DIR__ . '/')) {
                $lines[] = "{$frame['file']}:{$frame['line']}";
            }
        }
        return Message::clean(implode("\n", array_slice($lines, 0, self::STACK_LINES)));
    }

    /** A class of that name outside of every namespace, or one of the client's own. Nothing is loaded for it. */
    private static function known(string $type): ?string
    {
        if (in_array($type, self::OWN, true)) {
            return __NAMESPACE__ . "\\$type";
        }
        if (preg_match('/^[A-Za-z_]\w*$/D', $type) !== 1 || !class_exists("\\$type", false)) {
            return null;
        }
        return is_subclass_of("\\$type", \Throwable::class) && (new \ReflectionClass($type))->getName() === $type
            ? $type
            : null;
    }

    private static function made(mixed $reviver, object $error, string $message): ?\Throwable
    {
        if ($reviver === null) {
            return null;
        }
        $isClass = is_string($reviver) && class_exists($reviver);
        try {
            $made = $isClass ? new $reviver($message) : $reviver($error);
        } catch (\Throwable $failure) {
            if ($isClass) {
                return null;
            }
            throw $failure;
        }
        // The text decides: a class that would say something else than the tape must not stand for it.
        return $made instanceof \Throwable && (!$isClass || $made->getMessage() === $message) ? $made : null;
    }
}
