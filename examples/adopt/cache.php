<?php

declare(strict_types=1);

require_once __DIR__ . '/../../php/autoload.php';  // with composer: vendor/autoload.php

/**
 * A cache in memcached whose servers a map chooses: what a site writes on top of stead. cache.pl
 * and cache.py are the same.
 *
 * While a site changes over, or grows, an item may still be where it was before. So a read that
 * finds nothing at the map's node looks a second time, where the client of before would have put
 * it, and copies what it finds to where it belongs. Writes and deletes go to all places that a read
 * may look at, so that no second look finds what is out of date.
 */
final class Cache
{
    /**
     * How often a second look found an item. When it stays 0 for as long as items live, the second
     * look can go.
     */
    public int $copied = 0;

    /**
     * @param ?string $map the map's file; null: the client of today alone
     * @param int $back into how many epochs before this one a read looks, too
     * @param ?Memcached $old the client of today, for the change-over
     * @param int $lifetime of what is set or copied, in seconds; 0: for ever
     */
    public function __construct(private ?string $map, private int $back = 0, private ?Memcached $old = null, private int $lifetime = 0)
    {
    }

    /** The value of a key; null when no place has it. A server that does not answer has nothing. */
    public function get(string $key): mixed
    {
        $clients = $this->clients($key);
        foreach ($clients as $place => $client) {
            $value = $client->get($key);
            if ($client->getResultCode() === Memcached::RES_SUCCESS) {
                if ($place > 0) {
                    $this->copied++;
                    $clients[0]->add($key, $value, $this->lifetime);  // not set: somebody may have written a newer one meanwhile
                }
                return $value;
            }
        }
        return null;
    }

    /** Sets a key; whether the place where it belongs took it. */
    public function set(string $key, mixed $value): bool
    {
        $done = array_map(fn (Memcached $client): bool => $client->set($key, $value, $this->lifetime), $this->clients($key));
        return $done[0];
    }

    /** Deletes a key; whether the place where it belongs had it. */
    public function delete(string $key): bool
    {
        $done = array_map(fn (Memcached $client): bool => $client->delete($key), $this->clients($key));
        return $done[0];
    }

    /**
     * The clients of the servers that may have a key: where it belongs, then where it was before;
     * none twice.
     *
     * @return non-empty-list<Memcached>
     */
    private function clients(string $key): array
    {
        $clients = [];
        if ($this->map !== null) {
            // for each question: it costs one stat, and a new epoch is seen at once
            $map = Stead\Map::open($this->map);
            $clients = [self::server($map, $key)];
            for ($epoch = $map->epoch() - 1; $epoch >= max(1, $map->epoch() - $this->back); $epoch--) {
                try {
                    $client = self::server(Stead\Map::open("$this->map.history/$epoch"), $key);
                } catch (Stead\Exception\NotFoundException) {
                    break;  // stead keeps 32 epochs
                }
                if (!in_array($client, $clients, true)) {
                    $clients[] = $client;
                }
            }
        }
        if ($this->old !== null) {
            $clients[] = $this->old;
        }
        return $clients;
    }

    /**
     * The client of the server that a map gives a key: it knows no other, so it has nothing to
     * choose.
     */
    private static function server(Stead\Map $map, string $key): Memcached
    {
        static $clients = [];
        $node = $map->locate($key);
        $address = $map->attribute($node, 'address') ?? $node;
        if (!isset($clients[$address])) {
            // under php-fpm a client with a name outlives the request, and with it its connection
            $client = new Memcached("stead $address");
            if ($client->getServerList() === []) {
                add_servers($client, [$address]);
            }
            $clients[$address] = $client;
        }
        return $clients[$address];
    }
}

/**
 * The client of today.
 *
 * @param list<string> $servers
 */
function today(array $servers): Memcached
{
    $client = new Memcached();
    $client->setOption(Memcached::OPT_LIBKETAMA_COMPATIBLE, true);
    add_servers($client, $servers);
    return $client;
}

/** @param list<string> $servers each HOST:PORT */
function add_servers(Memcached $client, array $servers): void
{
    foreach ($servers as $server) {
        $colon = strrpos($server, ':') ?: strlen($server);
        $client->addServer(substr($server, 0, $colon), (int) (substr($server, $colon + 1) ?: 11211));
    }
}

// php cache.php [--back N] [--old HOST:PORT,...] [MAP]: answers `get KEY`, `set KEY VALUE`, `delete
// KEY`, `copied` and `epoch`, one on a line
if (realpath($_SERVER['SCRIPT_FILENAME']) === __FILE__) {
    $options = getopt('', ['back:', 'old:'], $rest);
    $map = $argv[$rest] ?? null;
    $old = isset($options['old']) ? today(explode(',', $options['old'])) : null;
    if ($map === null && $old === null) {
        fwrite(STDERR, "cache.php: name a map, or the servers of today with --old HOST:PORT,...\n");
        exit(64);
    }
    $cache = new Cache($map, (int) ($options['back'] ?? 0), $old);
    while (($line = fgets(STDIN)) !== false) {
        [$verb, $key, $value] = explode(' ', rtrim($line, "\n"), 3) + ['', '', ''];
        echo match ($verb) {
            'get' => ($found = $cache->get($key)) === null ? 'miss' : "hit $found",
            'set' => $cache->set($key, $value) ? 'set' : 'not set',
            'delete' => $cache->delete($key) ? 'deleted' : 'not there',
            'copied' => $cache->copied,
            'epoch' => Stead\Map::open((string) $map)->epoch(),
            default => 'say get KEY, set KEY VALUE, delete KEY, copied or epoch',
        }, "\n";
    }
}
