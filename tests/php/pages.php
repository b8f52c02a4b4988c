<?php

declare(strict_types=1);

// The example /where/, and pages with deliberate mistakes, which are the controls of the tests.
// /twice/ waits for a time that is shorter than an epoch, but long enough for a publisher to
// publish meanwhile.

const GAP = 10000;

[, $verb, $key] = explode('/', (string) strtok($_SERVER['REQUEST_URI'], '?'), 3) + ['', '', ''];
if ($verb === 'where') {
    require __DIR__ . '/where.php';
    return;
}
header('X-Worker: ' . getmypid());
header('Content-Type: application/json');
if ($verb === 'ffi') {
    // whether any script may use FFI
    try {
        echo json_encode(FFI::cdef('int getpid(void);')->getpid() === getmypid());
    } catch (FFI\Exception $exception) {
        echo json_encode($exception->getMessage());
    }
    return;
}

require __DIR__ . '/vendor/autoload.php';

use Stead\Ffi;
use Stead\Map;

$path = (string) getenv('STEAD_MAP');
if ($verb === 'never') {
    // each worker makes itself a copy of the map, and uses it for ever
    $own = dirname($path) . '/own/' . getmypid() . '.map';
    is_file($own) || Map::open($path)->save($own);
    $path = $own;
}
$members = $again = Map::open($path);
if ($verb === 'twice') {
    // opens the map again in the same request
    usleep(GAP);
    $again = Map::open($path);
} elseif ($verb === 'hoard') {
    // never frees the maps that it opens
    Ffi::load()->c->stead_map_share($members->pointer());
}
echo json_encode(['epoch' => $members->epoch(), 'node' => $again->locate(rawurldecode($key)), 'again' => $again->epoch()]);
