<?php

declare(strict_types=1);

namespace Stead\Bench;

// Times Stead\Map::locate against pure PHP over the same slices and against php-memcached's
// getServerByKey in its ketama mode, in one process. Each round asks every candidate for the same
// keys, and the order of the candidates rotates from round to round. A figure is the median over
// the rounds of the CPU time per key, and a ratio is the median of the rounds' ratios. Prints JSON;
// run.py makes the table.
//
//     php locate.php ROUNDS KEYS NODES...

use FFI;
use LogicException;
use Memcached;
use Stead\Map;
use ValueError;

require __DIR__ . '/../../php/autoload.php';

/** The code of a careful programmer: MD5, the first 8 bytes as a number, a binary search. */
final class Pure
{
    /** @var list<int> the first points, with the top bit flipped, since PHP's int is signed */
    private array $firsts = [];
    /** @var list<string> */
    private array $nodes = [];

    public function __construct(Map $map)
    {
        foreach ($map->slices() as $slice) {
            $this->firsts[] = $slice->first ^ PHP_INT_MIN;
            $this->nodes[] = $slice->nodes[0];
        }
    }

    public function locate(string $key): string
    {
        $point = \unpack('J', \md5($key, true))[1] ^ \PHP_INT_MIN;
        [$low, $high] = [0, \count($this->firsts)];
        while ($high - $low > 1) {
            $middle = ($low + $high) >> 1;
            if ($this->firsts[$middle] <= $point) {
                $low = $middle;
            } else {
                $high = $middle;
            }
        }
        return $this->nodes[$low];
    }
}

/** A map that grew in ten steps, so that its slices are like those of real maps. */
function grown(int $nodes): Map
{
    $map = null;
    for ($count = intdiv($nodes, 10); $count <= $nodes; $count += intdiv($nodes, 10)) {
        $map = Map::build(['name' => 'bench', 'node' => array_map(static fn (int $i): array => ['name' => sprintf('n%04d', $i)], range(0, $count - 1))], $map);
    }
    return $map ?? throw new ValueError('at least 10 nodes');
}

function ketama(int $nodes): ?Memcached
{
    // with more servers, libmemcached 1.1.4 aborts the process: "memcached_server_count(ptr) * ...
    // <= MEMCACHED_CONTINUUM_SIZE"
    if (!extension_loaded('memcached') || $nodes > 100) {
        return null;
    }
    $client = new Memcached();
    $client->setOption(Memcached::OPT_LIBKETAMA_COMPATIBLE, true);
    // the client never connects to them
    $client->addServers(array_map(static fn (int $i): array => [sprintf('n%04d', $i), 11211], range(0, $nodes - 1)));
    return $client;
}

/** The CPU seconds that this process has used. */
function spent(): float
{
    $usage = getrusage();
    return $usage['ru_utime.tv_sec'] + $usage['ru_stime.tv_sec'] + ($usage['ru_utime.tv_usec'] + $usage['ru_stime.tv_usec']) / 1e6;
}

/** @param list<float> $values */
function median(array $values): float
{
    sort($values);
    return $values[intdiv(count($values), 2)];
}

/**
 * @param list<string> $keys
 * @return array<string, callable(): void>
 */
function candidates(int $nodes, array $keys): array
{
    [$map, $memcached] = [grown($nodes), ketama($nodes)];
    $pure = new Pure($map);
    foreach ($keys as $key) {
        $map->locate($key) === $pure->locate($key) || throw new LogicException("pure PHP places $key elsewhere");
    }
    // the loops are alike, but each candidate has its own, so that none pays for another's call
    $found = [
        'Map::locate' => static function () use ($map, $keys): void {
            foreach ($keys as $key) {
                $map->locate($key);
            }
        },
        'pure PHP' => static function () use ($pure, $keys): void {
            foreach ($keys as $key) {
                $pure->locate($key);
            }
        },
        'Map::locateMany, a key' => static function () use ($map, $keys): void {
            $map->locateMany($keys);
        },
        'Map::locateAll' => static function () use ($map, $keys): void {
            foreach ($keys as $key) {
                $map->locateAll($key);
            }
        },
        'md5($key, true)' => static function () use ($keys): void {
            foreach ($keys as $key) {
                \md5($key, true);
            }
        },
        // the same arguments as in Map::locate's call, but hardly any work
        'an FFI call with its three arguments' => static function () use ($map, $keys): void {
            [$c, $pointer] = [FFI::cdef('int memcmp(const void *a, const void *b, size_t n);'), $map->pointer()];
            foreach ($keys as $key) {
                $c->memcmp($pointer, $key, \strlen($key));
            }
        },
        'an FFI call without arguments' => static function () use ($keys): void {
            $c = \Stead\Ffi::load()->c;
            foreach ($keys as $key) {
                $c->stead_abi();
            }
        },
    ];
    if ($memcached !== null) {
        $found['Memcached::getServerByKey, ketama'] = static function () use ($memcached, $keys): void {
            foreach ($keys as $key) {
                $memcached->getServerByKey($key);
            }
        };
    }
    return $found;
}

[, $rounds, $count] = array_map(intval(...), $argv) + [0, 0, 0];
$keys = array_map(static fn (int $i): string => "member$i", range(1, $count));
$results = [];
foreach (array_slice($argv, 3) as $nodes) {
    $candidates = candidates((int) $nodes, $keys);
    $names = array_keys($candidates);
    $times = [];
    for ($round = -1; $round < $rounds; $round++) {
        foreach ($names as $i => $_) {
            $name = $names[($i + $round + 1) % count($names)];
            $before = spent();
            $candidates[$name]();
            $taken = (spent() - $before) / $count * 1e9;
            // the first round warms up
            $round < 0 || $times[$name][] = $taken;
        }
    }
    foreach ($names as $name) {
        $ratios = array_map(static fn (float $time, float $base): float => $time / $base, $times[$name], $times['Map::locate']);
        // the ratio of stead to this candidate: below 1, stead is faster
        $results[$nodes][$name] = ['ns' => median($times[$name]), 'ratio' => 1 / median($ratios)];
    }
}
echo json_encode(['php' => PHP_VERSION, 'jit' => (bool) (function_exists('opcache_get_status') ? (opcache_get_status(false)['jit']['on'] ?? false) : false), 'nodes' => $results], JSON_PRETTY_PRINT), "\n";
