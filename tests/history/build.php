<?php

// build.php PREVIOUS FLEET SHAPE MAX_MOVE OUT: the next map of a fleet, from PHP. build.py says more.

declare(strict_types=1);

use Stead\Map;

if (!class_exists(Map::class)) {
    require __DIR__ . '/../../php/autoload.php';
}

[, $previous, $fleet, $shape, $maxMove, $out] = $argv;
$before = $previous === '-' ? null : Map::open($previous);
$maxMove = $maxMove === '-' ? null : $maxMove;
$text = (string) file_get_contents($fleet);
$after = match ($shape) {
    'file' => Map::buildFile($fleet, $before, $maxMove),
    'text' => Map::build($text, $before, $maxMove),
    'value' => Map::build(json_decode($text, true), $before, $maxMove),
};
if ($before !== null && $after->same($before)) {
    $after = $before;
}
$after->save($out);
echo bin2hex($after->digest());
