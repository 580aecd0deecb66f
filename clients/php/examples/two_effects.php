<?php

// Two questions to the outside, one after the other: what is the price, and is there enough?

return function ($event, $ctx) {
    $at = $ctx->now();
    $price = $ctx->respond('quote', fn() => 990, args: [$event->sku]);
    $stock = $ctx->respond('stock', fn() => 7, args: [$event->sku]);
    return ['at' => $at, 'price' => $price, 'stock' => $stock, 'ok' => $stock >= $event->amount];
};
