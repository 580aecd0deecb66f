<?php

// The handler of charge.php after a change that nobody noticed: `>= 0` became `> 0`.

return function ($event, $ctx) {
    $receivedAt = $ctx->now();
    $sampled = $ctx->random() < 0.2;
    $balance = $ctx->respond('account.balance', fn() => 1000 - $event->amount);
    return ['receivedAt' => $receivedAt, 'sampled' => $sampled, 'approved' => $balance > 0, 'balance' => $balance];
};
