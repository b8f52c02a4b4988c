<?php

declare(strict_types=1);

// A visitor of members' photos, like visitor.py, which describes it.

use Site\Members;

require __DIR__ . '/../../examples/members/members.php';

[, $directory, $file, $stop] = $argv;
$users = explode("\n", substr((string) file_get_contents($file), 0, -1));
$due = [];
foreach ($users as $n => $user) {
    $due[$n] = "$user 0";
}
$counts = ['looks' => 0, 'uploads' => 0, 'removals' => 0, 'wrong' => 0];
$turn = 0;
while (clearstatcache() || !file_exists($stop)) {
    $turn++;
    $n = mt_rand(0, count($users) - 1);
    [$user, $members, $dice] = [$users[$n], new Members($directory), mt_rand(0, 99)];
    if ($dice < 70) {
        $counts['looks']++;
        $counts['wrong'] += (int) ($members->look($user) !== $due[$n]);
    } elseif ($dice < 90) {
        $counts['uploads']++;
        $members->upload($user, "$user $turn");
        $due[$n] = "$user $turn";
    } else {
        $counts['removals']++;
        $members->remove($user);
        $due[$n] = null;
    }
    if ($turn === 100) {
        echo "ready\n";
    }
    usleep(1000);
}
echo implode(' ', $counts), "\n";
foreach ($due as $n => $photo) {
    echo "$users[$n]\t$photo\n";
}
