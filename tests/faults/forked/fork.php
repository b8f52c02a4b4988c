<?php

// fork.php MAP COUNT KEY FIRST SECOND: forks while MAP is replaced. fork.py says more.

declare(strict_types=1);

use Stead\Map;

if (!class_exists(Map::class)) {
    require __DIR__ . '/../../../php/autoload.php';
}

const RIGHT = 7;
const PATIENCE = 20;
[, $path, $count, $key] = $argv;
$nodes = array_slice($argv, 4);
$right = fn (Map $map): bool => $map->locate($key) === $nodes[$map->epoch() - 1];

$good = 0;
for ($number = 0; $number < (int) $count; $number++) {
    $parent = Map::open($path);
    $child = pcntl_fork();
    if ($child === 0) {
        pcntl_alarm(PATIENCE);
        $ok = $right($parent) && $right(Map::open($path)) && $right($parent);
        // an ordinary exit of PHP, with everything that it frees
        exit($ok ? RIGHT : 1);
    }
    pcntl_waitpid($child, $status);
    $good += (int) (pcntl_wifexited($status) && pcntl_wexitstatus($status) === RIGHT);
}
echo $good, "\n";
