<?php

// An error that is the same in every language: its type and message are the handler's answer.

use Playhead\Client\HandlerError;

function handler($event, $ctx)
{
    throw new HandlerError('Declined', 'no funds');
}
