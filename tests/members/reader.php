<?php

declare(strict_types=1);

// A reader of members' photos, like reader.py, which describes it.

use Site\Members;

require __DIR__ . '/../../examples/members/members.php';

/** @param list<string> $paths */
$read = static function (array $paths): ?string {
    foreach ($paths as $path) {
        $photo = Members::read($path);
        if ($photo !== null) {
            return $photo;
        }
    }
    return null;
};
$chosen = static fn(array $places, string $how): array => array_map(static fn($number) => $places[(int) $number % count($places)], str_split($how));
$counts = ['looks' => 0, 'moving' => 0, 'misses' => 0, 'wrong' => 0];
$count = static function (string $user, ?string $photo, array $places) use (&$counts): void {
    $counts['looks']++;
    $counts['moving'] += (int) (count($places) > 1);
    $counts['misses'] += (int) ($photo === null);
    $counts['wrong'] += (int) ($photo !== null && $photo !== "photo of $user\n");
};
$users = static fn(string $file): array => explode("\n", substr((string) file_get_contents($file), 0, -1));
$waited = static function (string $said): void {
    echo "$said\n";
    fgets(STDIN);
};
$said = static fn(?string $photo): string => $photo === null ? 'absent' : 'found';

[, $what, $directory, $first] = $argv;
if ($what === 'run') {
    $all = $users($first);
    while (clearstatcache() || !file_exists($argv[4])) {
        [$user, $members] = [$all[mt_rand(0, count($all) - 1)], new Members($directory)];
        $places = $members->places($user);
        $count($user, $members->look($user), $places);
        if ($counts['looks'] === 100) {
            echo "ready\n";
        }
        usleep(1000);
    }
} elseif ($what === 'list') {
    foreach ($users($first) as $user) {
        $members = new Members($directory);
        $places = $members->places($user);
        $count($user, $argv[4] === 'look' ? $members->look($user) : $read($chosen($places, $argv[4])), $places);
    }
} elseif ($what === 'pause') {
    $places = $chosen((new Members($directory))->places($first), $argv[4]);
    $photo = $read(array_slice($places, 0, 1));
    $waited($said($photo));
    echo $said($photo ?? $read(array_slice($places, 1))), "\n";
} elseif ($what === 'stale') {
    $members = new Members($directory);
    $places = $members->places($first);
    $waited($said($read($places)));
    echo $said($read($places)), ' ', $said($members->look($first)), "\n";
}
if ($what === 'run' || $what === 'list') {
    echo implode(' ', $counts), "\n";
}
