<?php

// stead in PHP: `php where.php MAP` reads keys in hex, one per line, and prints the node of each.
// STEAD_LIBRARY names libstead.

declare(strict_types=1);

require __DIR__ . '/../../../php/autoload.php';

$map = Stead\Map::open($argv[1]);
while (($line = fgets(STDIN)) !== false) {
    echo $map->locate(hex2bin(rtrim($line, "\n"))), "\n";
}
