<?php

declare(strict_types=1);

// examples/php/fpm/where.php without stead: the cost of the page when it locates no key.

/** @param array<string, mixed> $found */
function answer(int $status, array $found): void
{
    http_response_code($status);
    header('Content-Type: application/json');
    header('X-Worker: ' . getmypid());
    echo json_encode($found, JSON_UNESCAPED_SLASHES | JSON_INVALID_UTF8_SUBSTITUTE);
}

[, $verb, $key] = explode('/', (string) strtok($_SERVER['REQUEST_URI'], '?'), 3) + ['', '', ''];
if ($verb !== 'without') {
    answer(404, ['error' => 'ask for /without/KEY']);
    return;
}
$key = rawurldecode($key);
answer(200, ['epoch' => 1, 'key' => $key, 'node' => 'db1', 'address' => '10.0.1.1:3306']);
