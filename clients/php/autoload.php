<?php

// What composer's autoload would do, without composer: require this file, and every class of the client is found.

declare(strict_types=1);

spl_autoload_register(static function (string $class): void {
    $prefix = 'Playhead\\Client\\';
    if (!str_starts_with($class, $prefix)) {
        return;
    }
    $file = __DIR__ . '/src/' . strtr(substr($class, strlen($prefix)), '\\', '/') . '.php';
    if (is_file($file)) {
        require $file;
    }
});

require_once __DIR__ . '/src/functions.php';
