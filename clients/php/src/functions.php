<?php

declare(strict_types=1);

namespace Playhead\Client;

/**
 * Takes stdin and stdout for the protocol, and answers the daemon until the input ends. Does not return.
 *
 * @param callable|array<string, callable> $handlers one handler (event, ctx), or several by name
 * @param array<string, mixed> $constants told to the daemon
 * @param array<string, callable|class-string> $revivers by the type of the error: a class, or a function of the error
 * @param callable|null $reset given the daemon's constants, makes the handler as good as new; only then is it offered
 */
function serve(
    callable|array $handlers,
    string $name = 'handler',
    array $constants = [],
    array $revivers = [],
    ?callable $reset = null,
): never {
    [$in, $out] = Stdio::take();
    (new Serve(new Peer($in, $out), $handlers, $name, $constants, $revivers, $reset))->run();
}
