<?php

declare(strict_types=1);

require_once __DIR__ . '/cache.php';

/**
 * PHP's own sessions in memcached, whose servers a map chooses: what `session.save_handler =
 * memcached` does, except for the choice.
 *
 *     session_set_save_handler(new Sessions('/var/lib/stead/sessions.map'), true);
 *     session_start();
 *
 * Keys, values and locks are those of php-memcached, and so are the settings memcached.sess_prefix,
 * sess_locking and sess_lock_*. So over the map of its ring, a host that has switched and one that
 * has not share all sessions and all locks.
 */
final class Sessions implements SessionHandlerInterface, SessionUpdateTimestampHandlerInterface
{
    private Cache $cache;

    /** The session that is locked. */
    private ?string $locked = null;

    /**
     * @param string $map the map file
     * @param int $back in how many previous epochs a session is looked for, too, while servers are
     *     added or removed
     * @param list<string> $rings as for Cache
     * @param array<int, mixed> $options of each client, such as other timeouts
     */
    public function __construct(string $map, int $back = 0, array $rings = [], array $options = [])
    {
        $options += [
            Memcached::OPT_PREFIX_KEY => (string) ini_get('memcached.sess_prefix'),
            Memcached::OPT_COMPRESSION => false,  // php-memcached's own handler could not read it
            // a server that hangs costs a request of its sessions some of these seconds
            Memcached::OPT_CONNECT_TIMEOUT => 1000,
            Memcached::OPT_POLL_TIMEOUT => 1000,
        ];
        // PHP writes a session when the script has ended, perhaps in another directory
        [$map, $rings] = [self::absolute($map), array_map(self::absolute(...), $rings)];
        $this->cache = new Cache($map, $back, lifetime: self::lifetime(), options: $options, rings: $rings);
    }

    public function open(string $path, string $name): bool
    {
        return true;
    }

    public function read(string $id): string|false
    {
        return $this->lock($id) ? (string) $this->cache->get($id) : false;
    }

    public function write(string $id, string $data): bool
    {
        // one of two copies is enough
        return $this->cache->set($id, $data, self::lifetime()) || $this->cache->get($id) === $data;
    }

    public function close(): bool
    {
        if ($this->locked !== null) {
            $this->cache->delete("lock.$this->locked");
            $this->locked = null;
        }
        return true;
    }

    public function destroy(string $id): bool
    {
        $this->cache->delete($id);
        return true;
    }

    public function gc(int $max_lifetime): int|false
    {
        return 0;  // memcached removes what has expired
    }

    /** PHP asks this with session.use_strict_mode: a session that nobody has begun is not taken. */
    public function validateId(string $id): bool
    {
        return $this->cache->get($id) !== null;
    }

    /** PHP calls this in place of `write` where nothing has changed: the lifetime begins again. */
    public function updateTimestamp(string $id, string $data): bool
    {
        if ($this->cache->touch($id, $data, self::lifetime())) {
            return true;
        }
        // memcached has forgotten it, or, where it was not locked, another request has ended it
        return $this->locked === null || $this->write($id, $data);
    }

    private static function absolute(string $path): string
    {
        return str_starts_with($path, '/') ? $path : getcwd() . "/$path";
    }

    /** The setting, which `session_start` may have changed. */
    private static function lifetime(): int
    {
        return (int) ini_get('session.gc_maxlifetime');
    }

    /** Waits until no other request has the session. */
    private function lock(string $id): bool
    {
        if (!filter_var(ini_get('memcached.sess_locking'), FILTER_VALIDATE_BOOLEAN)) {
            return true;
        }
        $expire = (int) ini_get('memcached.sess_lock_expire') ?: (int) ini_get('max_execution_time') ?: 60;
        $wait = (int) ini_get('memcached.sess_lock_wait_min');
        if (!preg_match('/^[A-Za-z0-9,-]{1,200}$/D', $id)) {
            trigger_error('the name of the session is none that PHP makes: it is too long, or has other characters', E_USER_WARNING);
            return false;
        }
        for ($tries = (int) ini_get('memcached.sess_lock_retries'); $tries >= 0; $tries--) {
            $locked = $this->cache->add("lock.$id", '1', $expire);
            if ($locked) {
                $this->locked = $id;
                return true;
            }
            if ($locked === null) {
                trigger_error('no server of the session answers', E_USER_WARNING);
                return false;
            }
            usleep(1000 * $wait);
            $wait = min(2 * $wait, (int) ini_get('memcached.sess_lock_wait_max'));
        }
        trigger_error('the session is locked by another request; see memcached.sess_lock_retries', E_USER_WARNING);
        return false;
    }
}
