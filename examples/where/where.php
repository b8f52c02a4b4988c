<?php

declare(strict_types=1);

// where MAP KEY...: prints the nodes of each key and their addresses, one line per node, the
// primary first.

use Stead\Map;

// with composer: require 'vendor/autoload.php'
require __DIR__ . '/../../php/autoload.php';

if ($argc < 2) {
    fwrite(STDERR, "usage: where MAP KEY...\n");
    exit(2);
}
try {
    $members = Map::open($argv[1]);
    foreach (array_slice($argv, 2) as $key) {
        foreach ($members->locateAll($key) as $node) {
            echo $key, "\t", $node, "\t", $members->attribute($node, 'address') ?? 'no address', "\n";
        }
    }
} catch (Stead\Exception $exception) {
    fwrite(STDERR, "where: {$exception->getMessage()}\n");
    exit(1);
}
