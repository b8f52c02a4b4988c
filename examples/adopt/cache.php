<?php

declare(strict_types=1);

if (!class_exists('Stead\Map')) {
    // neither the extension nor composer has it
    $beside = __DIR__ . '/../../php/autoload.php';
    if (!is_file($beside)) {
        throw new Error('PHP has no class Stead\Map: install the extension (Debian: php-stead) and enable it (phpenmod stead)');
    }
    require_once $beside;
}

/**
 * A cache in memcached whose servers are chosen by a map: the code that a site writes on top of
 * stead. cache.pl and cache.py are the same class.
 *
 * A key may have several nodes, as a hot key with a pin has. Writes and deletes go to all of them,
 * and each read begins at one that is chosen at random.
 *
 * While a site changes its clients, or grows, an item may still be in its old place. So a read that
 * finds nothing at the map's nodes takes a second look at the old place, and copies the item that it
 * finds to its new place. Writes and deletes go to all places at which a read may look, so a second
 * look does not find what this program has replaced. If other programs set or delete the same keys,
 * all of them have to write to the old places of all of them: see $rings.
 *
 * While a carry is open (docs/carry.md), writes and deletes go where the state of the carry says, and
 * reads to the nodes of one map, which have everything. There are no second looks then.
 */
final class Cache
{
    /** The lifetime in seconds of a copy that a read makes from another node of the same key. */
    private const MINUTE = 60;

    /** Beyond so many seconds memcached takes a lifetime for a date, in seconds since 1970. */
    private const MONTH = 30 * 86400;

    /**
     * The number of items that were found at an old place. When it stays 0 for the lifetime of the
     * items, the second look can be removed.
     */
    public int $copied = 0;

    /**
     * @param ?string $map the map file; null to use only the old client
     * @param int $back the number of previous epochs in which a read looks, too
     * @param ?Memcached $old the old client, during the change
     * @param int $lifetime of items that are set or copied, in seconds; 0 means for ever. A
     *     second look does not know how long an item has lived: the copy begins a new lifetime
     * @param array<int, mixed> $options of each client, as for Memcached::setOptions: those that the
     *     application has set so far, such as OPT_PREFIX_KEY or OPT_SERIALIZER
     * @param list<string> $rings the map files of the rings of all old clients, if several
     *     languages set or delete the same keys: what is set or deleted is so at these places, too.
     *     Reads do not look there
     */
    public function __construct(private ?string $map, private int $back = 0, private ?Memcached $old = null, private int $lifetime = 0, private array $options = [], private array $rings = [])
    {
    }

    /**
     * Returns the value of a key; null if no place has it. A server that does not answer counts as
     * empty. A map that cannot be opened throws; so does a missing history if $back needs it.
     */
    public function get(string $key): mixed
    {
        [$present, , $earlier] = $this->places($key);
        $order = array_keys($present);
        shuffle($order);
        foreach ($order as $place) {
            $value = self::ask($present[$place], 'get', $key);
            if ($present[$place]->getResultCode() === Memcached::RES_SUCCESS) {
                // A node is filled only from one before it, and not for long. Otherwise two nodes
                // could keep an item alive between them for ever
                if ($place < $order[0]) {
                    self::ask($present[$order[0]], 'add', $key, $value, min($this->lifetime ?: self::MINUTE, self::MINUTE));
                }
                return $value;
            }
        }
        foreach ($earlier as $client) {
            $value = self::ask($client, 'get', $key);
            if ($client->getResultCode() === Memcached::RES_SUCCESS) {
                $this->copied++;
                foreach ($present as $new) {
                    self::ask($new, 'add', $key, $value, self::expiry($this->lifetime));  // add, not set: another client may have written a newer value meanwhile
                }
                return $value;
            }
        }
        return null;
    }

    /**
     * Sets a key. Returns whether all its nodes stored it.
     *
     * @param ?int $lifetime of this item, in place of the cache's own
     */
    public function set(string $key, mixed $value, ?int $lifetime = null): bool
    {
        $lifetime = self::expiry($lifetime ?? $this->lifetime);
        [$present, $carried, $earlier] = $this->places($key, writing: true);
        $done = array_map(fn (Memcached $client): bool => self::ask($client, 'set', $key, $value, $lifetime), [...$present, ...$carried, ...$earlier]);
        return !in_array(false, array_slice($done, 0, count($present)), true);
    }

    /**
     * Sets a key that none of its nodes has, as for a lock. Returns whether it did so; null if no node
     * answers. One that does not is passed over. Places of second looks are left alone.
     */
    public function add(string $key, mixed $value, ?int $lifetime = null): ?bool
    {
        [$present, $carried] = $this->places($key);
        $clients = [...$present, ...$carried];
        // all hosts in one order, or two of them could each have one half
        usort($clients, fn (Memcached $a, Memcached $b): int => $a->getServerList() <=> $b->getServerList());
        $added = [];
        foreach ($clients as $client) {
            if (self::ask($client, 'add', $key, $value, self::expiry($lifetime ?? $this->lifetime))) {
                $added[] = $client;
            } elseif ($client->getResultCode() === Memcached::RES_NOTSTORED || $client->getResultCode() === Memcached::RES_DATA_EXISTS) {
                foreach ($added as $one) {
                    self::ask($one, 'delete', $key);
                }
                return false;
            }
        }
        return $added === [] ? null : true;
    }

    /**
     * Begins the lifetime of a key anew, if any of its nodes has it, and sets it at those that do not.
     * Returns false if none of them has it.
     */
    public function touch(string $key, mixed $value, ?int $lifetime = null): bool
    {
        $lifetime = self::expiry($lifetime ?? $this->lifetime);
        [$present, $carried] = $this->places($key);
        $clients = [...$present, ...$carried];
        $done = array_map(fn (Memcached $client): bool => self::ask($client, 'touch', $key, $lifetime), $clients);
        if (!in_array(true, $done, true)) {
            return false;
        }
        foreach (array_keys($done, false, true) as $place) {
            self::ask($clients[$place], 'add', $key, $value, $lifetime);
        }
        return true;
    }

    /** Deletes a key. Returns whether one of its nodes had it. */
    public function delete(string $key): bool
    {
        [$present, $carried, $earlier] = $this->places($key, writing: true);
        // the places of second looks first, or a read in between would bring it back
        $done = array_map(fn (Memcached $client): bool => self::ask($client, 'delete', $key), [...$earlier, ...$present, ...$carried]);
        return in_array(true, array_slice($done, count($earlier), count($present)), true);
    }

    /** Returns what to tell memcached of a lifetime; a date to come stays one. */
    private static function expiry(int $lifetime): int
    {
        return $lifetime > self::MONTH && $lifetime < time() ? time() + $lifetime : $lifetime;
    }

    /**
     * Returns the clients of the servers that may have a key, each once: those of its nodes by the
     * map, in their order; while a carry is open, the others to which its state lets hosts write; and
     * those of the places before. A write goes to the places of the rings, too.
     *
     * @return array{non-empty-list<Memcached>, list<Memcached>, list<Memcached>}
     */
    private function places(string $key, bool $writing = false): array
    {
        [$present, $carried, $earlier] = [[], [], []];
        if ($this->map !== null) {
            // opened for each query: that costs one stat, and sees a new epoch immediately
            $pair = Stead\Pair::open($this->map);
            $map = $pair->new();
            // the first nodes are those of the map by which hosts read
            $reads = in_array($pair->state(), ['old', 'both_old_first'], true) ? $pair->old() : $map;
            $count = count($reads->locateAll($key));
            $present = $this->servers($pair, array_slice($pair->writes($key), 0, $count));
            $carried = $this->servers($pair, array_slice($pair->writes($key), $count));
            $back = $pair->state() === null ? $this->back : 0;
            for ($epoch = $map->epoch() - 1; $epoch >= max(1, $map->epoch() - $back); $epoch--) {
                try {
                    // a node that the newest map has, too, has its address there, also if it was
                    // renamed
                    $pair = Stead\Pair::open($this->map, epoch: $epoch, state: 'both_new_first');
                } catch (Stead\Exception\NotFoundException $missing) {
                    if ($epoch === $map->epoch() - 1) {  // this one is always kept
                        throw new RuntimeException("$this->map.history has no epoch $epoch, where a second look has to look: copy the directory to this host", 0, $missing);
                    }
                    break;  // stead keeps 32 epochs
                }
                array_push($earlier, ...$this->servers($pair, $pair->reads($key)));
            }
            foreach ($writing ? $this->rings : [] as $path) {
                $ring = Stead\Map::open($path);
                array_push($earlier, ...$this->servers($ring, $ring->locateAll($key)));
            }
        }
        if ($this->old !== null) {
            $earlier[] = $this->old;
        }
        $once = [];
        foreach ($earlier as $client) {
            if (!in_array($client, [...$present, ...$carried, ...$once], true)) {
                $once[] = $client;
            }
        }
        $earlier = $once;
        return $present === [] ? [$earlier, [], []] : [$present, $carried, $earlier];
    }

    /**
     * Returns the clients of these nodes of a map, or of a pair of maps. Each client knows only
     * its server, so it has nothing to choose.
     *
     * @param list<string> $nodes
     * @return list<Memcached>
     */
    private function servers(Stead\Map|Stead\Pair $where, array $nodes): array
    {
        $found = [];
        foreach ($nodes as $node) {
            // in the map of an adopted ring the name is the address
            $address = $where->attribute($node, 'address') ?? $node;
            if (str_contains($address, ':')) {
                $found[] = $this->client($address);
            } elseif ($where instanceof Stead\Map || $where->new()->node($node) !== null) {
                throw new RuntimeException("node $node needs an attribute `address` with HOST:PORT");
            }
            // a node that has left and never had an address has no item
        }
        return $found;
    }

    /**
     * Returns the client of one server; caches with the same options share it. Each process has
     * clients of its own: two that used one connection would read each other's answers.
     */
    private function client(string $address): Memcached
    {
        static $clients = [];
        // under php-fpm a client with a name, and its connection, outlives the request
        $name = "stead $address " . getmypid() . ' ' . md5(serialize($this->options));
        if (!isset($clients[$name])) {
            $client = new Memcached($name);
            if ($client->getServerList() === []) {
                // libmemcached would pass over a server for two seconds after it was away, and a write
                // would not be at all nodes of its key
                if (!$client->setOptions($this->options + [Memcached::OPT_RETRY_TIMEOUT => -1])) {
                    throw new RuntimeException("memcached does not take the options of the Cache: {$client->getResultMessage()}");
                }
                add_servers($client, [$address]);
            }
            $clients[$name] = $client;
        }
        return $clients[$name];
    }

    /**
     * Asks a server, and once again if the connection was lost: when a child process ends,
     * php-memcached tells the servers to hang up the connections that it had from its parent.
     */
    private static function ask(Memcached $client, string $verb, string $key, mixed ...$more): mixed
    {
        $answer = $client->$verb($key, ...$more);
        $lost = $client->getLastErrorErrno() !== 0 || $client->getResultCode() === Memcached::RES_CONNECTION_FAILURE;
        if ($lost && $client->getResultCode() !== Memcached::RES_TIMEOUT) {
            $answer = $client->$verb($key, ...$more);
        }
        return $answer;
    }
}

/**
 * Returns the old client.
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

// php cache.php [--back N] [--old HOST:PORT,...] [--rings MAP,...] [MAP]: answers the commands `get
// KEY`, `set KEY VALUE`, `delete KEY`, `copied` and `epoch`, one per line
if (realpath($_SERVER['SCRIPT_FILENAME']) === __FILE__) {
    $options = getopt('', ['back:', 'old:', 'rings:'], $rest);
    $map = $argv[$rest] ?? null;
    $old = isset($options['old']) ? today(explode(',', $options['old'])) : null;
    if ($map === null && $old === null) {
        fwrite(STDERR, "cache.php: name a map, or the servers of the old client with --old HOST:PORT,...\n");
        exit(64);
    }
    $rings = isset($options['rings']) ? explode(',', $options['rings']) : [];
    $cache = new Cache($map, (int) ($options['back'] ?? 0), $old, rings: $rings);
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
