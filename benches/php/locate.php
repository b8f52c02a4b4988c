<?php

declare(strict_types=1);

namespace Stead\Bench;

// Times Stead\Map::locate against md5(), against pure PHP over the same slices and against
// php-memcached's getServerByKey in its ketama mode. A line on standard input is the number of nodes
// and the number of a round; it is answered by a line of JSON, the nanoseconds of CPU time per key for
// each candidate. Each round asks every candidate for the same keys, and the order of the candidates
// rotates from round to round. run.py lets a process with the extension and one with FFI take turns,
// and makes the table.
//
//     php locate.php KEYS

use FFI;
use LogicException;
use Memcached;
use Stead\Library;
use Stead\Map;
use ValueError;

require __DIR__ . '/../../php/autoload.php';
require __DIR__ . '/pure.php';

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
    $file = tempnam(sys_get_temp_dir(), 'stead-bench-');
    $map->save($file);
    register_shutdown_function(static fn () => unlink($file));
    // the loops are alike, but each candidate has its own, so that none pays for another's call
    $found = [
        'Map::locate' => static function () use ($map, $keys): void {
            foreach ($keys as $key) {
                $map->locate($key);
            }
        },
        'Map::locateMany, a key' => static function () use ($map, $keys): void {
            $map->locateMany($keys);
        },
        'Map::locateAllMany, a key' => static function () use ($map, $keys): void {
            $map->locateAllMany($keys);
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
        'Map::open of an unchanged map' => static function () use ($file, $keys): void {
            foreach ($keys as $key) {
                Map::open($file);
            }
        },
    ];
    if (Library::backend() === 'ffi') {
        // the same arguments as in Map::locate's call, but hardly any work
        $found['an FFI call with its three arguments'] = static function () use ($map, $keys): void {
            [$c, $pointer] = [FFI::cdef('int memcmp(const void *a, const void *b, size_t n);'), $map->pointer()];
            foreach ($keys as $key) {
                $c->memcmp($pointer, $key, \strlen($key));
            }
        };
        $found['pure PHP'] = static function () use ($pure, $keys): void {
            foreach ($keys as $key) {
                $pure->locate($key);
            }
        };
    }
    if ($memcached !== null && Library::backend() === 'ffi') {
        $found['Memcached::getServerByKey, ketama'] = static function () use ($memcached, $keys): void {
            foreach ($keys as $key) {
                $memcached->getServerByKey($key);
            }
        };
    }
    return $found;
}

$keys = array_map(static fn (int $i): string => "member$i", range(1, (int) $argv[1]));
$candidates = [];
while (($line = fgets(STDIN)) !== false) {
    [$nodes, $round] = array_map(intval(...), explode(' ', $line));
    $candidates[$nodes] ??= candidates($nodes, $keys);
    $names = array_keys($candidates[$nodes]);
    $times = [];
    foreach ($names as $i => $_) {
        $name = $names[($i + $round) % count($names)];
        $before = spent();
        $candidates[$nodes][$name]();
        $times[$name] = (spent() - $before) / count($keys) * 1e9;
    }
    $jit = (bool) (function_exists('opcache_get_status') ? (opcache_get_status(false)['jit']['on'] ?? false) : false);
    echo json_encode(['backend' => Library::backend(), 'php' => PHP_VERSION, 'jit' => $jit, 'ns' => $times]), "\n";
}
