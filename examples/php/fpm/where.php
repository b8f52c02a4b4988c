<?php

declare(strict_types=1);

// Where does this member live? GET /where/KEY answers
// {"epoch":3,"key":"frank","node":"db1","address":"10.0.0.1:3306"}.
//
// Each request opens the map. That costs one stat: the process keeps the map open, and opens the
// file again only after a new epoch was published. So no worker has to be signalled, restarted or
// reloaded. Open the map once per request and use it for the whole request: a second open in the
// same request may return the next epoch.

use Stead\Map;

// the extension has stead's classes; without it, the package has them
extension_loaded('stead') || require __DIR__ . '/vendor/autoload.php';

/** @param array<string, mixed> $found */
function answer(int $status, array $found): void
{
    http_response_code($status);
    header('Content-Type: application/json');
    header('X-Worker: ' . getmypid());
    echo json_encode($found, JSON_UNESCAPED_SLASHES | JSON_INVALID_UTF8_SUBSTITUTE);
}

// not PATH_INFO, in which web servers merge two slashes into one; a key is its exact bytes
[, $verb, $key] = explode('/', (string) strtok($_SERVER['REQUEST_URI'], '?'), 3) + ['', '', ''];
if ($verb !== 'where') {
    answer(404, ['error' => 'ask for /where/KEY']);
    return;
}
$key = rawurldecode($key);
try {
    $members = Map::open((string) getenv('STEAD_MAP'));
    $node = $members->locate($key);
    answer(200, ['epoch' => $members->epoch(), 'key' => $key, 'node' => $node, 'address' => $members->attribute($node, 'address')]);
} catch (Stead\Exception $exception) {
    answer(503, ['error' => $exception->getMessage()]);
}
