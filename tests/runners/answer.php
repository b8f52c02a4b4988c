<?php

declare(strict_types=1);

// Answers the requests of answers.py through the public classes of PHP, one on each line. The head of
// answer.c describes the requests.
//
//     php answer.php                       requests from standard input
//     php answer.php lines MAP COUNT       the nodes of the keys "0", "1", ... one line each
//     php answer.php points MAP COUNT      their points, 8 bytes each
//
// STEAD_LIBRARY is the path of libstead. ANSWER_BACKEND says whether this must be the extension or FFI. ANSWER_LOCALE names the locale to run in; the program stops
// when it cannot set this locale or sees no effect of it.

use Stead\Exception as Failure;
use Stead\Fold;
use Stead\Map;
use Stead\Path;
use Stead\Plan;
use Stead\Point;
use Stead\Status;

require __DIR__ . '/../../php/autoload.php';

function stop(string $why): never
{
    fwrite(STDERR, "answer.php: $why\n");
    exit(3);
}

set_error_handler(static function (int $level, string $message, string $file, int $line): never {
    stop("$message in $file:$line");
});

if (Stead\Library::backend() !== (getenv('ANSWER_BACKEND') ?: 'ffi')) {
    stop('this is the backend ' . Stead\Library::backend());
}

$locale = getenv('ANSWER_LOCALE');
if (is_string($locale) && (setlocale(LC_ALL, $locale) !== $locale || sprintf('%.1f', 1.5) !== '1,5')) {
    stop("the locale $locale does not take");
}

function opened(string $path): Map
{
    static $maps = [];
    return $maps[$path] ??= Map::open($path);
}

/** A map with this hash. The package gives a point only through a map. */
function hashing(int $hash, string $secret): Map
{
    static $maps = [];
    $fleet = ['name' => 'points', 'hash' => [1 => 'md5', 'sha1', 'xxh3', 'siphash'][$hash], 'node' => [['name' => 'a']]];
    return $maps["$hash $secret"] ??= Map::build($secret === '' ? $fleet : $fleet + ['secret' => $secret]);
}

/** @return list<string> */
function keys_of(string $list): array
{
    return $list === '' ? [] : array_map(hex2bin(...), explode(',', $list));
}

/** @param list<string> $names */
function nodes(array $names): string
{
    return implode(',', array_map(bin2hex(...), $names));
}

function refused(Failure $failure): string
{
    $status = $failure->status ?? stop('a failure without a status');
    if ($failure->getCode() !== $status->value || !str_contains(get_class($failure), 'Stead\\Exception\\')) {
        stop('a failure of another class or code than its status');
    }
    // the case NotFound is STEAD_NOT_FOUND
    return 'STEAD_' . strtoupper((string) preg_replace('/(?<!^)[A-Z]/', '_$0', $status->name)) . "\t" . bin2hex($failure->getMessage());
}

/** The answer to a call that makes a map. */
function made(callable $make): string
{
    try {
        $make();
        return "STEAD_OK\t";
    } catch (Failure $failure) {
        return refused($failure);
    }
}

function plan(Plan $plan, string $keys): string
{
    $written = static fn (Stead\Move $one): string => implode(',', [Point::hex($one->first), Point::hex($one->last),
        bin2hex($one->from ?? ''), bin2hex($one->to ?? ''), $one->cause]);
    $moves = array_map($written, $plan->moves());
    if (count($moves) !== count($plan) || $moves !== array_map($written, iterator_to_array($plan))) {
        stop('a plan counts, lists and iterates other moves');
    }
    $numbers = array_flip($moves);
    $report = $plan->report(true);
    $amounts = [$plan->moved(), $plan->lowerBound(), $plan->byHand(), $plan->reordered()];
    if ($amounts !== array_map(fn (string $what) => $report[$what]['points'], ['moved', 'lower_bound', 'by_hand', 'reordered'])) {
        stop("a plan's amounts are not its report's");
    }
    $found = [sprintf('%.17H', $plan->fraction()), bin2hex((string) json_encode($report)), (string) count($moves), ...$moves];
    $rows = [];
    foreach (keys_of($keys) as $place => $key) {
        foreach ($plan->affects($key) as $one) {
            $rows[] = new Stead\Affected($place, $one->from, $one->to);
        }
        if ($plan->affects($key) != $plan->affectsPoint($plan->new()->point($key))) {
            stop('a key and its point are affected by other moves');
        }
        $found[] = implode(',', array_map(fn (Stead\Move $one): int => $numbers[$written($one)], $plan->affects($key)));
    }
    if ($rows != $plan->affectsMany(keys_of($keys))) {
        stop('affectsMany says other things than affects');
    }
    return implode("\t", $found);
}

/** @param list<string> $field */
function answer(array $field): string
{
    $name = array_shift($field);
    $text = static fn (int $i): string => (string) hex2bin($field[$i]);
    try {
        switch ($name . ' ' . count($field)) {
            case 'point 3':
                return "STEAD_OK\t" . Point::hex(hashing((int) $field[0], $field[1])->point($text(2)));
            case 'map-point 2':
                return "STEAD_OK\t" . Point::hex(opened($text(0))->point($text(1)));
            case 'locate 3':
                [$map, $key] = [opened($text(0)), ($field[1] === '1' ? Fold::Ascii : Fold::None)->of($text(2))];
                return "STEAD_OK\t" . Point::hex($map->point($key)) . "\t" . nodes([$map->locate($key)]) . "\t" . nodes($map->locateAll($key));
            case 'locate-point 2':
                [$map, $point] = [opened($text(0)), Point::fromHex($field[1])];
                $nodes = $map->locateAllPoint($point);
                if ($map->locatePoint($point) !== $nodes[0]) {
                    stop("a point's primary is not the first of its nodes");
                }
                return "STEAD_OK\t" . nodes($nodes);
            case 'locate-many 2':
                return "STEAD_OK\t" . nodes(opened($text(0))->locateMany(keys_of($field[1])));
            case 'prefer 3':
                return "STEAD_OK\t" . nodes(opened($text(0))->prefer($text(2), (int) $field[1]));
            case 'path 3':
                return "STEAD_OK\t" . bin2hex(Path::of($text(2), $text(0), $field[1] === '1' ? Fold::Ascii : Fold::None));
            case 'path-name 2':
                return "STEAD_OK\t" . bin2hex(Path::name($text(1), $text(0)));
            case 'plan 3':
                return "STEAD_OK\t" . plan(Plan::between(opened($text(0)), opened($text(1))), $field[2]);
            case 'pair 4':
            case 'pair-point 4':
                $state = [1 => 'old', 'both_old_first', 'both_new_first', 'new'][(int) $field[2]];
                $pair = Stead\Pair::between(opened($text(0)), opened($text(1)), $state);
                if ($pair->state() !== $state || $pair->new()->epoch() !== opened($text(1))->epoch()) {
                    stop('a pair has another state or another map than it was given');
                }
                if ($name === 'pair') {
                    [$reads, $writes, $moved] = [$pair->reads($text(3)), $pair->writes($text(3)), $pair->moved($text(3))];
                } else {
                    $point = Point::fromHex($field[3]);
                    [$reads, $writes, $moved] = [$pair->readsPoint($point), $pair->writesPoint($point), $pair->movedPoint($point)];
                }
                return "STEAD_OK\t" . nodes($reads) . "\t" . nodes($writes) . "\t" . ($moved ? '1' : '0');
            case 'bytes 1':
                return rtrim(made(fn () => Map::fromBytes($text(0))), "\t");
            case 'file 1':
                return implode("\t", [made(fn () => Map::openUncached($text(0))), made(fn () => Map::open($text(0))), made(fn () => Map::open($text(0), true))]);
            case 'build 3':
                $map = Map::build($text(1), name: $text(0));
                $field[2] === '' || $map->save($text(2));
                return 'STEAD_OK';
            case 'build-file 1':
                return rtrim(made(fn () => Map::buildFile($text(0))), "\t");
        }
    } catch (Failure $failure) {
        return refused($failure);
    }
    stop('a request that is none');
}

/** Works in parts of 10,000 keys: PHP is slow with larger arrays. */
function million(string $what, Map $map, int $count): void
{
    for ($first = 0; $first < $count; $first += 10000) {
        $keys = array_map(strval(...), range($first, min($first + 10000, $count) - 1));
        $found = [];
        if ($what === 'points') {
            foreach ($keys as $key) {
                $found[] = $map->point($key);
            }
            echo pack('J*', ...$found);
            continue;
        }
        foreach ($map->locateMany($keys) as $i => $primary) {
            $nodes = $map->locateAll($keys[$i]);
            if ($nodes[0] !== $primary) {
                stop('locateMany disagrees with locateAll');
            }
            $found[] = implode(',', $nodes) . "\n";
        }
        echo implode('', $found);
    }
}

if ($argc === 4 && in_array($argv[1], ['lines', 'points'], true)) {
    million($argv[1], opened($argv[2]), (int) $argv[3]);
} elseif ($argc === 1) {
    while (($line = fgets(STDIN)) !== false) {
        echo answer(explode("\t", rtrim($line, "\n"))), "\n";
    }
} else {
    stop('usage: answer.php | answer.php lines MAP COUNT | answer.php points MAP COUNT');
}
