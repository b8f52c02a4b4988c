<?php

// Asks PHP's clients where keys live: `php php.php MODE` or `php php.php MODE version`; clients.py
// describes input and output.

declare(strict_types=1);

/** Reports what is not installed, with exit code 77, which clients.py expects. */
function lacking(string $why): never
{
    fwrite(STDERR, "$why\n");
    exit(77);
}

function extension(string $name): string
{
    return (string) (phpversion($name) ?: lacking("PHP's extension $name is not installed"));
}

/**
 * Each entry has a function that returns the version of the client, and one that takes the servers
 * and returns a function for a list of keys.
 */
$memcached = static fn (array $options): array => [
    static fn (): string => extension('memcached'),
    static function (array $servers) use ($options): callable {
        $client = new Memcached();
        foreach ($options as $option => $value) {
            $client->setOption(constant("Memcached::$option"), is_string($value) ? constant("Memcached::$value") : $value);
        }
        $client->addServers($servers);

        return static fn (array $keys): array => array_map(static function (string $key) use ($client): string {
            $server = $client->getServerByKey($key);

            return "$server[host]:$server[port]";
        }, $keys);
    },
];
// it has no call that names the server, so the values name it
$memcache = static fn (string $strategy): array => [
    static fn (): string => extension('memcache'),
    static function (array $servers) use ($strategy): callable {
        ini_set('memcache.hash_strategy', $strategy);
        $client = new Memcache();
        foreach ($servers as [$host, $port]) {
            $client->addServer($host, $port);
        }

        return static function (array $keys) use ($client): array {
            $found = $client->get($keys);

            return array_map(static fn (string $key): string => $found[$key] ?? '', $keys);
        };
    },
];
$phpredis = static fn (bool $consistent): array => [
    static fn (): string => extension('redis'),
    static function (array $servers) use ($consistent): callable {
        $names = array_map(static fn (array $server): string => "$server[0]:$server[1]", $servers);
        $client = new RedisArray($names, ['lazy_connect' => true, 'consistent' => $consistent]);

        return static fn (array $keys): array => array_map(static fn (string $key): string => $client->_target($key), $keys);
    },
];
$predis = static fn (string $ring): array => [
    static function (): string {
        @include_once 'Predis/autoload.php';

        return class_exists('Predis\Client') ? Predis\Client::VERSION : lacking('Predis is not installed');
    },
    static function (array $servers) use ($ring): callable {
        $ring = "Predis\\Cluster\\Distributor\\$ring";
        // its name in Predis 2, and in Predis 1
        $cluster = 'Predis\Connection\Cluster\PredisCluster';
        $cluster = class_exists($cluster) ? $cluster : 'Predis\Connection\Aggregate\PredisCluster';
        $client = new $cluster(new Predis\Cluster\PredisStrategy(new $ring()));
        foreach ($servers as [$host, $port]) {
            $client->add(new Predis\Connection\StreamConnection(new Predis\Connection\Parameters(['host' => $host, 'port' => $port])));
        }

        return static fn (array $keys): array => array_map(static fn (string $key): string => (string) $client->getConnectionByKey($key), $keys);
    },
];
$modes = [
    'memcached' => $memcached([]),
    'memcached-consistent' => $memcached(['OPT_DISTRIBUTION' => 'DISTRIBUTION_CONSISTENT']),
    'memcached-consistent-md5' => $memcached(['OPT_DISTRIBUTION' => 'DISTRIBUTION_CONSISTENT', 'OPT_HASH' => 'HASH_MD5']),
    'memcached-ketama' => $memcached(['OPT_LIBKETAMA_COMPATIBLE' => true]),
    'memcache-standard' => $memcache('standard'),
    'memcache-consistent' => $memcache('consistent'),
    'redisarray' => $phpredis(false),
    'redisarray-consistent' => $phpredis(true),
    'predis' => $predis('HashRing'),
    'predis-ketama' => $predis('KetamaRing'),
];

[$version, $make] = $modes[$argv[1] ?? ''] ?? exit('modes: ' . implode(' ', array_keys($modes)) . "\n");
$has = $version();
if (isset($argv[2])) {
    exit("$has\n");
}
[$servers, $keys] = explode("\n\n", stream_get_contents(STDIN), 2);
$servers = array_map(static function (string $server): array {
    [$host, $port] = explode(':', $server);

    return [$host, (int) $port];
}, explode("\n", $servers));
$where = $make($servers);
foreach (array_chunk(explode("\n", rtrim($keys, "\n")), 500) as $some) {
    echo implode("\n", $where($some)), "\n";
}
