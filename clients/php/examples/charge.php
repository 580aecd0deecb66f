<?php

// A tiny governed handler: stamp a time, make a policy roll, do one IO call, each through $ctx only.

return function ($event, $ctx) {
    $receivedAt = $ctx->now();
    $sampled = $ctx->random() < 0.2;
    $balance = $ctx->respond('account.balance', fn() => 1000 - $event->amount);
    return ['receivedAt' => $receivedAt, 'sampled' => $sampled, 'approved' => $balance >= 0, 'balance' => $balance];
};
