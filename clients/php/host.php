<?php

/*
 * php host.php [--streams IN,OUT] FILE: serves the handler of a plain file to the daemon on stdin and stdout, or on the
 * descriptors IN and OUT where a shell has pointed 0 and 1 elsewhere.
 *
 * The file returns a closure (event, ctx), or an array of them by name, or defines the function `handler`. Its variables
 * $revivers, $constants and $reset, where there are some, are passed to `serve`. A file that cannot be served ends the
 * process with 1 and a few words on stderr.
 */

declare(strict_types=1);

namespace Playhead\Client\Host;

use Playhead\Client\Stdio;

use function Playhead\Client\serve;

require __DIR__ . '/autoload.php';

function fail(string $message): never
{
    fwrite(STDERR, "playhead: $message\n");
    exit(1);
}

/** @return array{mixed, array<string, mixed>} what the file returns, and its variables */
function load(string $path): array
{
    $found = (static function (): array {
        $returned = require func_get_arg(0);
        return [$returned, get_defined_vars()];
    })($path);
    unset($found[1]['returned']);
    return $found;
}

function main(array $words): never
{
    $streams = null;
    if (($words[0] ?? null) === '--streams') {
        $streams = array_map(intval(...), explode(',', $words[1] ?? ''));
        array_splice($words, 0, 2);
    }
    // First of all: what the file prints while it loads is no frame.
    Stdio::take($streams);
    if (count($words) !== 1) {
        fail('usage: php host.php [--streams IN,OUT] FILE');
    }
    [$path] = $words;
    $file = realpath($path);
    if ($file === false) {
        fail("$path: no such handler file");
    }
    $_SERVER['argv'] = $GLOBALS['argv'] = [$file];
    $_SERVER['argc'] = $GLOBALS['argc'] = 1;
    try {
        [$returned, $variables] = load($file);
    } catch (\Throwable $error) {
        fail("cannot load $path: " . $error::class . ": {$error->getMessage()}\n"
            . "  {$error->getFile()}:{$error->getLine()}");
    }
    $handlers = is_callable($returned) || is_array($returned) ? $returned : null;
    $handlers ??= function_exists('handler') ? \handler(...) : null;
    if ($handlers === null) {
        fail("$path has no handler: return function (\$event, \$ctx) {...}; or function handler(\$event, \$ctx)");
    }
    try {
        serve(
            $handlers,
            pathinfo($path, PATHINFO_FILENAME),
            (array) ($variables['constants'] ?? []),
            (array) ($variables['revivers'] ?? []),
            $variables['reset'] ?? null,
        );
    } catch (\InvalidArgumentException | \TypeError $error) {
        fail("cannot serve $path: {$error->getMessage()}");
    }
}

main(array_slice($argv, 1));
