<?php

/*
 * The conformance program of the PHP client: the functions of protocol/conformance.md, and nothing else.
 *   playhead conformance --command "php conformance.php"
 */

declare(strict_types=1);

use Playhead\Client\CallEnded;
use Playhead\Client\Context;
use Playhead\Client\HandlerError;

use function Playhead\Client\serve;

require __DIR__ . '/autoload.php';

$made = fn() => ['price' => 990];
$failing = fn() => throw new HandlerError('TimeoutError', 'no quote');
$hour = fn() => sleep(3600);
$quote = fn($event, Context $ctx) => $ctx->respond('quote', $made, args: [$event->sku]);
$quoteFailing = fn($event, Context $ctx) => $ctx->respond('quote', $failing, args: [$event->sku]);
$kept = null;
$counted = 0;

$functions = [
    'nothing' => function (): void {
    },
    'echo' => fn($event) => $event,
    'plus_one' => fn($event) => $event + 1,
    'now' => fn($event, Context $ctx) => $ctx->now(),
    'clocks' => fn($event, Context $ctx) => [$ctx->now(), $ctx->monotonic()],
    'seq_and_now' => fn($event, Context $ctx) => ['seq' => $ctx->seq, 'at' => $ctx->now()],
    'draws' => fn($event, Context $ctx) => [
        $ctx->random(),
        $ctx->randint(1, 6),
        bin2hex($ctx->randbytes(5)),
        $ctx->sample(range(0, 9), 3),
        $ctx->random(),
    ],
    'draw_two' => fn($event, Context $ctx) => [$ctx->randint(1, 6), $ctx->random()],
    'uuid' => fn($event, Context $ctx) => $ctx->uuid(),
    'charge' => function ($event, Context $ctx) {
        $at = $ctx->now();
        $sampled = $ctx->random() < 0.2;
        $balance = $ctx->respond('account.balance', fn() => 1000 - $event->amount);
        return ['receivedAt' => $at, 'sampled' => $sampled, 'approved' => $balance >= 0, 'balance' => $balance];
    },
    'quote' => $quote,
    'quote_in_eur' => fn($event, Context $ctx) => $ctx->respond(
        'quote',
        $made,
        args: [$event->sku],
        kwargs: ['currency' => 'EUR'],
    ),
    'quote_failing' => $quoteFailing,
    'quote_or_null' => function ($event, Context $ctx) use ($quoteFailing) {
        try {
            return ['price' => $quoteFailing($event, $ctx)];
        } catch (HandlerError $error) {
            return $error->type === 'TimeoutError' ? ['price' => null] : throw $error;
        }
    },
    'slow' => fn($event, Context $ctx) => $ctx->respond('slow', $hour),
    'declined' => fn() => throw new HandlerError('Declined', 'no funds'),
    'testify' => function ($event, Context $ctx) {
        $span = $ctx->span('charge', ['amount' => $event->amount]);
        $ctx->observe('queue.depth', 17);
        $ctx->note('retry', ['attempt' => 2]);
        $span->end('approved');
        return true;
    },
    'escaped' => function ($event, Context $ctx) {
        $ctx->escaped('socket.connect', 'handler.py:12');
        return true;
    },
    'caught' => function ($event, Context $ctx) {
        $at = $ctx->now();
        foreach (['now', 'random'] as $ask) {
            try {
                $ctx->$ask();
            } catch (Exception) {
                // What is asked for is that nothing happens.
            }
        }
        return ['at' => $at];
    },
    'prints' => function ($event, Context $ctx) {
        echo "one\n";
        $at = $ctx->now();
        print '{"jsonrpc":"2.0","method":"two"}';
        file_put_contents('php://fd/1', "three\n");
        return $at;
    },
    'reads' => fn() => file_get_contents('php://stdin'),

    'order' => fn($event, Context $ctx) => [$ctx->now(), $ctx->random(), $quote($event, $ctx)->price],
    'readings' => fn($event, Context $ctx) => [$ctx->now(), $ctx->now(), $ctx->monotonic(), $ctx->randint(1, 6)],
    'noted' => function ($event, Context $ctx) {
        $first = $ctx->now();
        $ctx->note('retry', ['attempt' => 2]);
        return [$first, $ctx->now()];
    },
    'race' => function ($event, Context $ctx) {
        $near = $ctx->start('near', fn() => 'near');
        $far = $ctx->start('far', fn() => 'far');
        $at = [$ctx->now()];
        $first = $far->wait();
        $at[] = $ctx->now();
        return ['first' => $first, 'at' => $at, 'last' => $near->wait()];
    },
    'abandon' => function ($event, Context $ctx) use ($hour) {
        $ctx->start('slow', $hour);
        return 'done';
    },
    'kept' => function ($event, Context $ctx) use (&$kept) {
        if ($ctx->seq === 0) {
            $kept = $ctx;
            return null;
        }
        try {
            return $kept->now();
        } catch (CallEnded) {
            return 'CallEnded';
        }
    },
    'live' => function ($event, Context $ctx) {
        $answer = $ctx->respond('live', function () use ($ctx) {
            $ctx->now();
            $ctx->random();
            return 'made';
        });
        return [$answer, $ctx->now()];
    },
    'not_json' => fn() => ['items' => [1, NAN]],

    'lanes' => fn($event, Context $ctx) => [$ctx->now(), $ctx->monotonic(), $ctx->lane('worker-1')->now()],
    'count' => function () use (&$counted) {
        return ++$counted;
    },
];

$reset = function () use (&$kept, &$counted): void {
    $kept = null;
    $counted = 0;
};

serve($functions, name: 'conformance', reset: $reset);
