<?php

declare(strict_types=1);

namespace Stead\Bench;

// The PHP worker of `make bench`: it times stead, php-memcached and pure PHP on the same keys.
// workers.py describes what it reads and answers.
//
//     php php_worker.php KEYS     (started by benches/peers/run.py)

use Closure;
use Memcached;
use RuntimeException;
use Stead\Library;
use Stead\Map;
use Throwable;

require __DIR__ . '/../../php/autoload.php';
require __DIR__ . '/../php/pure.php';

/** The number of nodes that `copies` asks for. */
const COPIES = 3;

/** What a candidate does once it is built. */
final class Candidate
{
    /**
     * @param Closure(list<string>): void $run looks every key up once
     * @param Closure(string): string $owner
     * @param ?Closure(string): list<string> $copies
     */
    public function __construct(public Closure $run, public Closure $owner, public ?Closure $copies = null)
    {
    }
}

/** The nanoseconds of CPU time that this process has used. */
function spent(): int
{
    $usage = getrusage();
    return ($usage['ru_utime.tv_sec'] + $usage['ru_stime.tv_sec']) * 1_000_000_000 + ($usage['ru_utime.tv_usec'] + $usage['ru_stime.tv_usec']) * 1000;
}

// Each candidate has a loop of its own, so that none pays for another's call.

function stead(string $call, string $path): Candidate
{
    $map = Map::open($path);
    $many = static fn (string $key): string => $map->locateMany([$key])[0];
    return new Candidate(
        match ($call) {
            'locate' => static function (array $keys) use ($map): void {
                foreach ($keys as $key) {
                    $map->locate($key);
                }
            },
            'prefer' => static function (array $keys) use ($map): void {
                foreach ($keys as $key) {
                    $map->prefer($key, 2);
                }
            },
            default => static function (array $keys) use ($map): void {
                $map->locateMany($keys);
            },
        },
        match ($call) {
            'locate' => $map->locate(...),
            'prefer' => static fn (string $key): string => $map->prefer($key, 2)[0],
            default => $many,
        },
        static fn (string $key): array => $map->prefer($key, COPIES),
    );
}

function pure(string $path): Candidate
{
    $pure = new Pure(Map::open($path));
    return new Candidate(static function (array $keys) use ($pure): void {
        foreach ($keys as $key) {
            $pure->locate($key);
        }
    }, $pure->locate(...));
}

function md5(): Candidate
{
    return new Candidate(static function (array $keys): void {
        foreach ($keys as $key) {
            \md5($key, true);
        }
    }, static fn (string $key): string => \md5($key));
}

/** @param list<array{string, int, int}> $servers */
function memcached(string $mode, array $servers): Candidate
{
    if (!extension_loaded('memcached')) {
        throw new RuntimeException('php-memcached is not installed');
    }
    $client = new Memcached();
    if ($mode === 'ketama') {
        $client->setOption(Memcached::OPT_LIBKETAMA_COMPATIBLE, true);
    }
    // the client never connects to them
    $client->addServers($servers) || throw new RuntimeException('it refuses the servers');
    return new Candidate(static function (array $keys) use ($client): void {
        foreach ($keys as $key) {
            $client->getServerByKey($key);
        }
    }, static fn (string $key): string => $client->getServerByKey($key)['host']);
}

function build(string $name, string $path): Candidate
{
    $words = explode(' ', $name);
    if ($words[0] === 'stead') {
        return stead($words[1], "$path.{$words[2]}.map");
    }
    if ($words[0] === 'memcached') {
        $states = explode("\n\n", trim((string) file_get_contents($path)));
        $server = static function (string $line): array {
            [$name, $weight] = explode(' ', $line);
            return [$name, 11211, (int) $weight];
        };
        return memcached($words[1], array_map($server, explode("\n", end($states))));
    }
    return match ($name) {
        'pure PHP' => pure("$path.md5.map"),
        'md5()' => md5(),
        default => throw new RuntimeException('no such candidate'),
    };
}

function version(string $name): string
{
    return match (explode(' ', $name)[0]) {
        'stead' => 'this tree, with ' . (Library::backend() === 'ffi' ? 'FFI' : 'the extension'),
        'memcached' => (string) phpversion('memcached'),
        default => PHP_VERSION,
    };
}

/**
 * @param list<string> $keys
 * @param array<string, Candidate> $built
 * @param list<string> $words
 */
function answer(array $keys, array &$built, array $words): string
{
    [$verb, $name] = $words;
    if ($verb === 'version') {
        return "ok\t" . version($name);
    }
    if ($verb === 'build') {
        unset($built[$name]);
        $start = spent();
        $built[$name] = build($name, $words[2]);
        return "ok\t" . (spent() - $start);
    }
    $it = $built[$name] ?? throw new RuntimeException('not built');
    if ($verb === 'time') {
        $part = array_slice($keys, (int) $words[2], (int) $words[3]);
        $start = spent();
        ($it->run)($part);
        return "ok\t" . (spent() - $start);
    }
    $first = array_slice($keys, 0, (int) $words[2]);
    if ($verb === 'place') {
        $lines = array_map($it->owner, $first);
    } elseif ($verb === 'copies' && $it->copies !== null) {
        $lines = array_map(static fn (string $key): string => implode(' ', ($it->copies)($key)), $first);
    } else {
        throw new RuntimeException('no call for it');
    }
    file_put_contents($words[3], implode("\n", $lines) . "\n");
    return 'ok';
}

$keys = explode("\n", rtrim((string) file_get_contents($argv[1])));
$built = [];
while (($line = fgets(STDIN)) !== false) {
    try {
        $said = answer($keys, $built, explode("\t", rtrim($line, "\n")));
    } catch (Throwable $error) {
        $said = "no\t" . strtr($error->getMessage(), "\n\t", '  ');
    }
    echo $said, "\n";
}
