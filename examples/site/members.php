<?php

declare(strict_types=1);

// A site's members, on any number of PostgreSQL shards and directories: the script of every request.
//
//     GET, PUT, DELETE /members/KEY          what a member says about herself
//     GET, PUT         /members/KEY/photo    the photo; it is deleted with the member
//
// The map says where a member lives. The attributes of a node are `shard`, a connection string of
// PostgreSQL, and `photos`, a directory. Each request opens the pair of maps, and so does the right
// thing before, while and after members are carried elsewhere (docs/carry.md).

use Stead\Pair;
use Stead\Path;

// with composer: require 'vendor/autoload.php'
require_once __DIR__ . '/../../php/autoload.php';

/** A node does not answer. */
final class Away extends RuntimeException
{
}

/** A member, for one request. The pair is opened once, and used to the end. */
final class Member
{
    public readonly Pair $pair;
    /** @var array<string, PDO> */
    private array $databases = [];

    public function __construct(private readonly string $key)
    {
        $this->pair = Pair::open((string) getenv('STEAD_MAP'));
    }

    // ---- where to read, and where to write

    /**
     * Returns what the first node that answers has, also when that is null. Only a node that does not
     * answer at all is passed over: a member that is not there may have been deleted a moment ago, and
     * may still stand at the next node. A connection that broke says nothing about the node, so a new
     * one is tried.
     *
     * @param callable(string): ?string $look
     */
    private function first(callable $look): ?string
    {
        $failure = null;
        foreach ($this->pair->reads($this->key) as $node) {
            for ($tries = 0; $tries < 2; $tries++) {
                try {
                    return $look($node);
                } catch (PDOException | Away $failure) {
                    unset($this->databases[$node]);
                }
            }
        }
        throw new Away("no node answers: {$failure?->getMessage()}");
    }

    /**
     * Writes at every node of `writes`, one after the other, in that order. If one fails, the request
     * fails, and is to be repeated: so a write must be one that does no harm the second time.
     *
     * @param callable(string): mixed $write
     */
    private function everywhere(callable $write): void
    {
        $nodes = $this->pair->writes($this->key);
        try {
            $this->lock($nodes);
            foreach ($nodes as $node) {
                $write($node);
                $this->database($node)->commit();
            }
        } catch (PDOException | Away $failure) {
            // which rolls back, and releases the lock
            $this->databases = [];
            throw new Away("it was not written everywhere: {$failure->getMessage()}");
        }
    }

    /**
     * Keeps other writers of this member away, on all hosts, until the end of the transactions. Hosts
     * whose carry is one state apart have a node in common. The nodes are locked in the order of their
     * names, so that no two writers wait for each other.
     *
     * @param list<string> $nodes
     */
    private function lock(array $nodes): void
    {
        sort($nodes, SORT_STRING);
        foreach ($nodes as $node) {
            $this->database($node)->beginTransaction();
            $this->ask($node, 'SELECT pg_advisory_xact_lock(hashtextextended(?, 0))', $this->key);
        }
    }

    // ---- the row

    /** Returns what the member says about herself; null if there is no member. */
    public function about(): ?string
    {
        return $this->first(function (string $node): ?string {
            $about = $this->ask($node, 'SELECT about FROM members WHERE member = ?', $this->key)->fetchColumn();
            return $about === false ? null : $about;
        });
    }

    /**
     * Creates or changes the member. It must not matter whether the row is there: the other node may
     * have got it from the carrier.
     */
    public function change(string $about): void
    {
        $this->everywhere(fn (string $node) => $this->ask(
            $node,
            'INSERT INTO members VALUES (?, ?) ON CONFLICT (member) DO UPDATE SET about = EXCLUDED.about',
            $this->key,
            $about,
        ));
    }

    /** Deletes the row and the photo. */
    public function delete(): void
    {
        $this->everywhere(function (string $node): void {
            $this->ask($node, 'DELETE FROM members WHERE member = ?', $this->key);
            $file = $this->file($node);
            if (!@unlink($file) && file_exists($file)) {
                throw new Away("$file cannot be removed");
            }
        });
    }

    // ---- the photo

    /** Returns the bytes of the photo; null if there is none. */
    public function photo(): ?string
    {
        return $this->first(function (string $node): ?string {
            $file = $this->file($node);
            error_clear_last();
            $photo = @file_get_contents($file);
            if ($photo === false && !str_contains(error_get_last()['message'] ?? '', 'No such file')) {
                throw new Away("$file cannot be read");
            }
            return $photo === false ? null : $photo;
        });
    }

    /**
     * Writes the photo under another name, and renames it to its place: then no reader, and no carrier,
     * sees half of it.
     */
    public function putPhoto(string $photo): void
    {
        $this->everywhere(function (string $node) use ($photo): void {
            $file = $this->file($node);
            $fresh = $this->root($node) . '/.upload-' . php_uname('n') . '-' . getmypid();
            is_dir(dirname($file)) || @mkdir(dirname($file), recursive: true);
            if (@file_put_contents($fresh, $photo) !== strlen($photo) || !rename($fresh, $file)) {
                throw new Away("$file cannot be written");
            }
        });
    }

    // ---- the parts of a node

    /**
     * Returns a connection to a node's shard. PHP keeps it from request to request, looks whether it
     * is still alive, and rolls back what a request has left open.
     */
    private function database(string $node): PDO
    {
        // the carrier holds a row for milliseconds; whoever waits longer gives up
        return $this->databases[$node] ??= new PDO(
            'pgsql:' . $this->pair->attribute($node, 'shard') . " options='-c lock_timeout=5s'",
            options: [PDO::ATTR_PERSISTENT => true, PDO::ATTR_ERRMODE => PDO::ERRMODE_EXCEPTION],
        );
    }

    private function ask(string $node, string $statement, string ...$values): PDOStatement
    {
        $asked = $this->database($node)->prepare($statement);
        $asked->execute($values);
        return $asked;
    }

    /**
     * Returns the directory of a node. One that is not mounted looks like one without photos, so a
     * file in it says whose it is.
     */
    private function root(string $node): string
    {
        $root = $this->pair->attribute($node, 'photos');
        if (!file_exists("$root/.node")) {
            throw new Away("$root is not mounted");
        }
        return $root;
    }

    /** Returns the path of the photo at a node. */
    private function file(string $node): string
    {
        return $this->root($node) . '/' . Path::of($this->key, '64');
    }
}

[, $place, $key, $part] = explode('/', (string) strtok($_SERVER['REQUEST_URI'], '?'), 4) + ['', '', '', ''];
$found = '';
try {
    $asked = $place === 'members' && $key !== '' ? "{$_SERVER['REQUEST_METHOD']} $part" : '';
    $member = new Member(rawurldecode($key));
    header("X-Map: {$member->pair->new()->epoch()} " . ($member->pair->state() ?? 'closed'));
    $body = (string) file_get_contents('php://input');
    match ($asked) {
        'GET ' => $found = $member->about(),
        'PUT ' => $member->change($body),
        'DELETE ' => $member->delete(),
        'GET photo' => $found = $member->photo(),
        'PUT photo' => $member->putPhoto($body),
        default => $found = null,
    };
    if ($found === null) {
        http_response_code(404);
        $found = "there is no such thing\n";
    }
} catch (Away | Stead\Exception $failure) {
    // nothing is wrong with the request: it may be sent again
    http_response_code(503);
    header('Retry-After: 1');
    $found = "{$failure->getMessage()}\n";
}
header('Content-Type: application/octet-stream');
header('Content-Length: ' . strlen($found));
echo $found;
