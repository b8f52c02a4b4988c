<?php

declare(strict_types=1);

namespace Stead;

/**
 * A map says where keys live. It is immutable and verified.
 *
 *     $node = Stead\Map::open('/srv/members.map')->locate('frank');
 *
 * A key is a string of bytes, which are used as they are. Open the map in each request: that costs
 * one stat while the file is unchanged, and sees a new epoch as soon as it is published. An open
 * map keeps its answers after another map is published. Every failure throws a Stead\Exception.
 */
final class Map implements \JsonSerializable
{
    private readonly Ffi $ffi;
    private readonly object $c;
    private readonly Handle $handle;
    /** The pointer of the handle. */
    private readonly object $map;
    /**
     * @var array<int, string> the names of nodes by their numbers. Each is added when it is first
     *     needed, because each request opens the map and needs only one or two names
     */
    private array $names = [];

    private function __construct(Ffi $ffi)
    {
        $this->ffi = $ffi;
        $this->c = $ffi->c;
        $this->map = $ffi->map[0];
        $this->handle = new Handle($this->c, $this->map, 'stead_map_free');
    }

    /**
     * Opens a map file. This costs one stat if the process has the file open already and it is
     * unchanged.
     *
     * @param bool $copy whether to read the file into memory whatever its size; without it, files
     *     above 1 MiB are memory-mapped and shared by all processes. If another program overwrites
     *     such a file in place, maps that are open give wrong answers; if it truncates the file,
     *     this process is killed by SIGBUS
     * @throws Exception NotFound-, PermissionDenied-, Io-, Format-, Digest-, VersionException, and
     *     ChangedException if the file was overwritten in place
     */
    public static function open(string $path, bool $copy = false): Map
    {
        $ffi = Ffi::load();
        if ($ffi->c->stead_map_open(Text::ended($path, 'the path'), $copy ? 1 : 0, $ffi->map, $ffi->error) !== 0) {
            $ffi->fail();
        }
        return new self($ffi);
    }

    /**
     * Opens a map file as open does, but always reads and verifies the whole file, and neither uses
     * nor changes what the process remembers. Use it to check a file.
     */
    public static function openUncached(string $path): Map
    {
        $ffi = Ffi::load();
        if ($ffi->c->stead_map_open_uncached(Text::ended($path, 'the path'), $ffi->map, $ffi->error) !== 0) {
            $ffi->fail();
        }
        return new self($ffi);
    }

    /**
     * Opens an old epoch of a map file, or the newest one.
     *
     * @param int $epoch a number that history lists
     * @throws Exception\InvalidException if the history does not have this epoch
     */
    public static function openEpoch(string $path, int $epoch): Map
    {
        $ffi = Ffi::load();
        if ($ffi->c->stead_map_open_epoch(Text::ended($path, 'the path'), $epoch, $ffi->map, $ffi->error) !== 0) {
            $ffi->fail();
        }
        return new self($ffi);
    }

    /** Makes a map from the bytes of a map file, and verifies them. */
    public static function fromBytes(string $bytes): Map
    {
        $ffi = Ffi::load();
        if ($ffi->c->stead_map_from_bytes($bytes, \strlen($bytes), $ffi->map, $ffi->error) !== 0) {
            $ffi->fail();
        }
        return new self($ffi);
    }

    /**
     * Builds the map of a fleet: the first one or, if `previous` is given, the next epoch of that
     * map, from which as little as possible moves. No file is written.
     *
     * @param string|array<mixed> $fleet the text of the fleet, TOML or JSON (docs/fleet.md), or an
     *     array of the same shape; never a path
     * @param ?string $maxMove the upper bound on the part of all copies that may move in this
     *     epoch, such as "5%"; building the same fleet again takes the next step
     * @param ?string $name the file name that messages use for the text, such as "fleet.toml"; a
     *     relative secret_file is looked for in its directory
     * @throws Exception\FleetException if the fleet contains a mistake
     * @throws Exception\ImpossibleException if no map can satisfy it
     */
    public static function build(string|array $fleet, ?Map $previous = null, ?string $maxMove = null, ?string $name = null): Map
    {
        $ffi = Ffi::load();
        $array = \is_array($fleet) ? new Fleet($fleet) : null;
        $text = $array === null ? $fleet : $array->text;
        $name = Text::ended($name ?? 'fleet', "the fleet's name");
        $maxMove = $maxMove === null ? null : Text::ended($maxMove, 'maxMove');
        if ($ffi->c->stead_map_build($text, \strlen($text), $name, $previous?->map, $maxMove, $ffi->map, $ffi->error) === 0) {
            return new self($ffi);
        }
        self::failFleet($ffi, $array, $text, $name, 'buildFile');
    }

    /**
     * Throws what is wrong with a fleet. The message names the place in the array, or what to call for
     * a file.
     */
    private static function failFleet(Ffi $ffi, ?Fleet $array, string $text, string $name, string $instead): never
    {
        try {
            $ffi->fail();
        } catch (Exception $exception) {
            if ($array !== null) {
                throw Exception::of($exception->getCode(), $array->placed($exception->getMessage(), $name), $exception->errno);
            }
            if ($exception->status === Status::Fleet && \strpbrk($text, "\n{=") === false) {
                $hint = "; this string is read as a fleet's text: Map::$instead reads a file";
                throw Exception::of($exception->getCode(), $exception->getMessage() . $hint, $exception->errno);
            }
            throw $exception;
        }
    }

    /** Does the same as build, for a fleet file. */
    public static function buildFile(string $path, ?Map $previous = null, ?string $maxMove = null): Map
    {
        $ffi = Ffi::load();
        $maxMove = $maxMove === null ? null : Text::ended($maxMove, 'maxMove');
        if ($ffi->c->stead_map_build_file(Text::ended($path, 'the path'), $previous?->map, $maxMove, $ffi->map, $ffi->error) !== 0) {
            $ffi->fail();
        }
        return new self($ffi);
    }

    /**
     * Brings the map file at path up to a fleet, as `stead apply` does: builds the map of the fleet on
     * the map that is there, or a first map if there is no file, and publishes it. If nothing would
     * change, nothing is written. Returns the map that is at path afterwards.
     *
     * @param string|array<mixed> $fleet as in build
     * @param ?string $maxMove as in build
     * @param ?string $name as in build
     * @param ?string $allow the words of guards that may not refuse the change, with commas between
     *     them: 'drop-copies', 'leave-data', 'lose-domain', 'move', 'take-back'
     * @throws Exception\ConflictException if another process published meanwhile: apply again
     * @throws Exception\GuardedException if a guard refuses the change; nothing was changed
     */
    public static function apply(string|array $fleet, string $path, ?string $maxMove = null, ?string $name = null, ?string $allow = null): Map
    {
        $ffi = Ffi::load();
        $array = \is_array($fleet) ? new Fleet($fleet) : null;
        $text = $array === null ? $fleet : $array->text;
        $name = Text::ended($name ?? 'fleet', "the fleet's name");
        $maxMove = $maxMove === null ? null : Text::ended($maxMove, 'maxMove');
        $allow = $allow === null ? null : Text::ended($allow, 'allow');
        $path = Text::ended($path, 'the path');
        if ($ffi->c->stead_map_apply($text, \strlen($text), $name, $path, $maxMove, $allow, $ffi->map, $ffi->error) === 0) {
            return new self($ffi);
        }
        self::failFleet($ffi, $array, $text, $name, 'applyFile');
    }

    /** Does the same as apply, for a fleet file. */
    public static function applyFile(string $fleet, string $path, ?string $maxMove = null, ?string $allow = null): Map
    {
        $ffi = Ffi::load();
        $allow = $allow === null ? null : Text::ended($allow, 'allow');
        $maxMove = $maxMove === null ? null : Text::ended($maxMove, 'maxMove');
        [$fleet, $path] = [Text::ended($fleet, "the fleet's path"), Text::ended($path, 'the path')];
        if ($ffi->c->stead_map_apply_file($fleet, $path, $maxMove, $allow, $ffi->map, $ffi->error) !== 0) {
            $ffi->fail();
        }
        return new self($ffi);
    }

    /**
     * Lists the epochs of a map file that openEpoch can open, oldest first. The last one is the epoch
     * of the file itself.
     *
     * @return list<int>
     */
    public static function history(string $path): array
    {
        $ffi = Ffi::load();
        for ($room = 64;; $room = $count) {
            $epochs = $ffi->room("uint64_t[$room]");
            if ($ffi->c->stead_map_history(Text::ended($path, 'the path'), $epochs, $room, $ffi->count, $ffi->error) !== 0) {
                $ffi->fail();
            }
            $count = $ffi->count[0];
            if ($count <= $room) {
                break;
            }
        }
        $found = [];
        for ($i = 0; $i < $count; $i++) {
            $found[] = $epochs[$i];
        }
        return $found;
    }

    /**
     * Goes back to an old epoch of a map file in a new epoch, because the numbers of epochs only go
     * up. If nothing would change, nothing is written. Returns the map that is at path afterwards.
     * Restore the fleet as well, or a guard refuses it the next time.
     *
     * @param int $epoch a number that history lists
     * @param ?string $back how: "exact" publishes the slices of the old epoch again, so that every key
     *     lives where it lived then; "least" builds the fleet of the old epoch on the newest one, which
     *     moves as little as possible. Without it the epoch just before the newest one comes back
     *     exactly, and an older one is refused, with a message that says what both would move. Nodes
     *     keep the attributes that they have now if data has moved since the old epoch
     * @param ?string $allow as in apply; 'take-back' is never needed here
     */
    public static function rollback(string $path, int $epoch, ?string $back = null, ?string $allow = null): Map
    {
        $ffi = Ffi::load();
        $back = $back === null ? null : Text::ended($back, 'back');
        $allow = $allow === null ? null : Text::ended($allow, 'allow');
        if ($ffi->c->stead_map_rollback(Text::ended($path, 'the path'), $epoch, $back, $allow, $ffi->map, $ffi->error) !== 0) {
            $ffi->fail();
        }
        return new self($ffi);
    }

    /**
     * Reads the epoch and the digest of a map file from its header, without verifying the file: a
     * cheap way to ask whether there is a newer epoch. `[$epoch, $digest] = Map::peek($path)`
     *
     * @return array{int, string}
     */
    public static function peek(string $path): array
    {
        $ffi = Ffi::load();
        $digest = $ffi->room('uint8_t[32]');
        if ($ffi->c->stead_map_peek(Text::ended($path, 'the path'), $ffi->point, $digest, $ffi->error) !== 0) {
            $ffi->fail();
        }
        return [$ffi->point[0], $ffi->bytes($digest, 32)];
    }

    /** Returns the name of the node that a key lives on; with several replicas, of the primary. */
    public function locate(string $key): string
    {
        // stead_map_locate has more arguments, and passing one to C takes 40 ns. After a fault in
        // libstead, stead_map_node_of returns -1, which is no node's number: then nameOf throws
        $node = $this->c->stead_map_node_of($this->map, $key, \strlen($key));
        return $this->names[$node] ?? $this->nameOf($node);
    }

    /**
     * Returns the names of all nodes of a key, primary first. There are as many as the map has
     * replicas, or as many as a named policy lists.
     *
     * @return list<string>
     */
    public function locateAll(string $key): array
    {
        [$c, $ffi] = [$this->c, $this->ffi];
        do {
            $nodes = $ffi->nodes;
            if ($c->stead_map_locate_all($this->map, $key, \strlen($key), $nodes, $ffi->capacity, $ffi->count, null) !== 0) {
                throw Exception::of(Status::Internal, 'a key has no nodes');
            }
            $count = $ffi->count[0];
        } while ($count > $ffi->capacity && $ffi->grow($count));
        return $this->namesOf($nodes, $count);
    }

    /**
     * Returns the names of the nodes that many keys live on; null stays null. The result has the
     * same array keys as `keys`, also if `keys` is not a list.
     *
     * @template K of array-key
     * @param array<K, ?string> $keys
     * @return array<K, ?string>
     */
    public function locateMany(array $keys): array
    {
        $found = [];
        foreach (\array_chunk($keys, Ffi::BATCH, true) as $batch) {
            $offsets = Ffi::offsets($batch);
            foreach ($this->ffi->locateMany($this->map, \implode('', $batch), $offsets) as $node) {
                $found[] = $this->names[$node] ?? $this->nameOf($node);
            }
        }
        return self::beside($keys, $found);
    }

    /**
     * Returns the names of all nodes of many keys: for each key the list that locateAll returns; null
     * stays null. The result has the same array keys as `keys`, also if `keys` is not a list.
     *
     * @template K of array-key
     * @param array<K, ?string> $keys
     * @return array<K, ?list<string>>
     */
    public function locateAllMany(array $keys): array
    {
        $found = [];
        foreach (\array_chunk($keys, Ffi::BATCH, true) as $batch) {
            $offsets = Ffi::offsets($batch);
            [$nodes, $ends] = $this->ffi->locateAllMany($this->map, \implode('', $batch), $offsets);
            $names = [];
            foreach ($nodes as $node) {
                $names[] = $this->names[$node] ?? $this->nameOf($node);
            }
            $start = 0;
            foreach ($ends as $end) {
                $found[] = \array_slice($names, $start, $end - $start);
                $start = $end;
            }
        }
        return self::beside($keys, $found);
    }

    /**
     * Returns up to n distinct nodes for a key, best first: those that hold the key, then those
     * that take over when these are down. All clients get the same list. It is shorter than n only
     * if the map has fewer nodes.
     *
     * @return list<string>
     */
    public function prefer(string $key, int $n): array
    {
        if ($n < 0) {
            throw Exception::of(Status::Invalid, "n is $n, and a number of nodes is at least 0");
        }
        $n = \min($n, $this->c->stead_map_node_count($this->map));
        $this->ffi->grow($n);
        $nodes = $this->ffi->nodes;
        if ($this->c->stead_map_prefer($this->map, $key, \strlen($key), $nodes, $n, $this->ffi->count, $this->ffi->error) !== 0) {
            $this->ffi->fail();
        }
        return $this->namesOf($nodes, $this->ffi->count[0]);
    }

    /**
     * Returns the point of a key. It is the hash by which the key is located, in the 64 bits of an
     * int, so half of all points are negative; see Point.
     */
    public function point(string $key): int
    {
        if ($this->c->stead_map_point($this->map, $key, \strlen($key), $this->ffi->point, null) !== 0) {
            throw Exception::of(Status::Internal, 'a key has no point');
        }
        return $this->ffi->point[0];
    }

    /** Returns the name of the node of a point; with several replicas, of the primary. */
    public function locatePoint(int $point): string
    {
        $nodes = $this->ffi->nodes;
        if ($this->c->stead_map_locate_point($this->map, $point, $nodes, $this->ffi->error) !== 0) {
            $this->ffi->fail();
        }
        return $this->names[$nodes[0]] ?? $this->nameOf($nodes[0]);
    }

    /**
     * Returns the names of all nodes of a point, primary first.
     *
     * @return list<string>
     */
    public function locateAllPoint(int $point): array
    {
        [$c, $ffi] = [$this->c, $this->ffi];
        do {
            $nodes = $ffi->nodes;
            if ($c->stead_map_locate_all_point($this->map, $point, $nodes, $ffi->capacity, $ffi->count, null) !== 0) {
                throw Exception::of(Status::Internal, 'a point has no nodes');
            }
            $count = $ffi->count[0];
        } while ($count > $ffi->capacity && $ffi->grow($count));
        return $this->namesOf($nodes, $count);
    }

    /** The name of the cluster. */
    public function name(): string
    {
        return $this->c->stead_map_name($this->map);
    }

    /** The number of this version of the map, from 1. */
    public function epoch(): int
    {
        return $this->c->stead_map_epoch($this->map);
    }

    /** The SHA-256 of the map, 32 bytes. Two maps with the same digest are the same. */
    public function digest(): string
    {
        $digest = $this->ffi->room('uint8_t[32]');
        if ($this->c->stead_map_digest($this->map, $digest, $this->ffi->error) !== 0) {
            $this->ffi->fail();
        }
        return $this->ffi->bytes($digest, 32);
    }

    /** The digest of the map that this one was built on; 32 zero bytes for a first map. */
    public function parent(): string
    {
        $digest = $this->ffi->room('uint8_t[32]');
        if ($this->c->stead_map_parent($this->map, $digest, $this->ffi->error) !== 0) {
            $this->ffi->fail();
        }
        return $this->ffi->bytes($digest, 32);
    }

    /** The name of the hash, such as "md5". */
    public function hash(): string
    {
        return $this->c->stead_map_hash($this->map);
    }

    /**
     * The key rule as a fleet writes it: which part of a key is hashed. "whole", or "first 2
     * segments".
     */
    public function keyRule(): string
    {
        return $this->c->stead_map_key_rule($this->map);
    }

    /**
     * The names of the labels over which copies are spread, outermost first.
     *
     * @return list<string>
     */
    public function spread(): array
    {
        $labels = [];
        for ($i = 0, $count = $this->c->stead_map_spread_count($this->map); $i < $count; $i++) {
            $labels[] = $this->c->stead_map_spread($this->map, $i);
        }
        return $labels;
    }

    /** The number of nodes that hold each point. */
    public function replicas(): int
    {
        return $this->c->stead_map_replicas($this->map);
    }

    /**
     * The nodes, sorted by name.
     *
     * @return list<Node>
     */
    public function nodes(): array
    {
        $nodes = [];
        for ($i = 0, $count = $this->c->stead_map_node_count($this->map); $i < $count; $i++) {
            $nodes[] = $this->nodeOf($i);
        }
        return $nodes;
    }

    /** Returns the node with this name; null if there is none. */
    public function node(string $name): ?Node
    {
        $node = $this->numberOf($name);
        return $node < 0 ? null : $this->nodeOf($node);
    }

    /**
     * Returns an attribute of a node, such as the address; null if the node has none of this name.
     */
    public function attribute(string $node, string $attribute): ?string
    {
        return $this->c->stead_map_node_attribute($this->map, $this->known($node), Text::ended($attribute, "the attribute's name"));
    }

    /** Returns a label of a node, such as the zone; null if the node has none of this name. */
    public function label(string $node, string $label): ?string
    {
        return $this->c->stead_map_node_label($this->map, $this->known($node), Text::ended($label, "the label's name"));
    }

    /**
     * The policies: every list of nodes that the map gives slices to.
     *
     * @return list<Policy>
     */
    public function policies(): array
    {
        $policies = [];
        for ($i = 0, $count = $this->c->stead_map_policy_count($this->map); $i < $count; $i++) {
            [$nodes, $name] = $this->policyOf($i);
            if ($this->c->stead_map_policy_weight($this->map, $i, $this->ffi->point, $this->ffi->error) !== 0) {
                $this->ffi->fail();
            }
            $millionths = $this->ffi->point[0];
            $weight = $millionths === 0 ? null : self::decimal($millionths);
            $policies[] = new Policy($name, $this->c->stead_map_policy_kind($this->map, $i), $weight, $nodes);
        }
        return $policies;
    }

    /**
     * The slices with pins applied, sorted by point.
     *
     * @return list<Slice>
     */
    public function slices(): array
    {
        [$slices, $policies] = [[], []];
        $slice = $this->ffi->room('stead_slice');
        $pointer = $this->ffi->pointer($slice);
        for ($i = 0, $count = $this->c->stead_map_slice_count($this->map); $i < $count; $i++) {
            if ($this->c->stead_map_slice($this->map, $i, $pointer, $this->ffi->error) !== 0) {
                $this->ffi->fail();
            }
            [$nodes, $policy] = $policies[$slice->policy] ??= $this->policyOf($slice->policy);
            $slices[] = new Slice($slice->first, $slice->last, $nodes, $policy);
        }
        return $slices;
    }

    /**
     * Publishes the map at path, completely or not at all, with its history beside it.
     *
     * @param ?Map $previous the map that this one was built on, which must still be the one at
     *     path; null if there is no map at path yet
     * @throws Exception\ConflictException if another process published meanwhile; nothing was
     *     changed, so build again on the new map
     * @param ?string $allow as in apply
     * @throws Exception\GuardedException if a guard refuses the change; nothing was changed
     */
    public function publish(string $path, ?Map $previous = null, ?string $allow = null): void
    {
        $allow = $allow === null ? null : Text::ended($allow, 'allow');
        if ($this->c->stead_map_publish($this->map, $previous?->map, Text::ended($path, 'the path'), $allow, $this->ffi->error) !== 0) {
            $this->ffi->fail();
        }
    }

    /**
     * Writes a copy of the map to a file, completely or not at all, and replaces an existing file.
     * It keeps no history and detects no conflicts.
     */
    public function save(string $path): void
    {
        if ($this->c->stead_map_save($this->map, Text::ended($path, 'the path'), $this->ffi->error) !== 0) {
            $this->ffi->fail();
        }
    }

    /** Returns the bytes of the map's file. If the fleet has a secret, they contain it. */
    public function toBytes(): string
    {
        $bytes = $this->ffi->room('const void *[1]');
        if ($this->c->stead_map_bytes($this->map, $bytes, $this->ffi->count, $this->ffi->error) !== 0) {
            $this->ffi->fail();
        }
        return $this->ffi->bytes($bytes[0], $this->ffi->count[0]);
    }

    /**
     * Returns the fleet that the map was built from, as TOML: its nodes, policies and pins. Building
     * this text on the map changes nothing, except that a gradual change that is under way is
     * completed, and that the map of an adopted ring gets exact shares. A secret is never part of it.
     */
    public function fleet(): string
    {
        if ($this->c->stead_map_fleet($this->map, $this->ffi->text, $this->ffi->error) !== 0) {
            $this->ffi->fail();
        }
        return $this->ffi->takeText();
    }

    /**
     * Returns whether two maps are equal except for epoch and parent, so that publishing one over
     * the other would change nothing.
     */
    public function same(Map $other): bool
    {
        return $this->c->stead_map_same($this->map, $other->map) === 1;
    }

    /**
     * Returns the content of the map, in the shape of `stead diff --json` (docs/cli.md). Points are
     * decimal strings in it, because 2^64 is too large for an int.
     *
     * @return array<string, mixed>
     */
    public function report(): array
    {
        if ($this->c->stead_map_report($this->map, $this->ffi->text, $this->ffi->error) !== 0) {
            $this->ffi->fail();
        }
        return \json_decode($this->ffi->takeText(), true, 512, \JSON_THROW_ON_ERROR);
    }

    /**
     * Returns the report, for json_encode.
     *
     * @return array<string, mixed>
     */
    public function jsonSerialize(): array
    {
        return $this->report();
    }

    /**
     * Returns all labels of a node.
     *
     * @internal Node has them
     * @return array<string>
     */
    public function labelsOf(string $node): array
    {
        return $this->textsOf($this->known($node), 'label');
    }

    /**
     * Returns all attributes of a node.
     *
     * @internal Node has them
     * @return array<string>
     */
    public function attributesOf(string $node): array
    {
        return $this->textsOf($this->known($node), 'attribute');
    }

    /**
     * Returns whether a node is about to leave.
     *
     * @internal Node says it
     */
    public function isLeaving(string $node): bool
    {
        return $this->c->stead_map_node_leaving($this->map, $this->known($node)) === 1;
    }

    /**
     * Makes a map of a handle of libstead, for Pair.
     *
     * @internal
     */
    public static function held(Ffi $ffi, object $pointer): Map
    {
        $ffi->map[0] = $pointer;
        return new self($ffi);
    }

    /**
     * Returns the pointer of the handle, for Plan and Pair.
     *
     * @internal
     */
    public function pointer(): object
    {
        return $this->map;
    }

    /**
     * Returns the name of a node by its number.
     *
     * @internal
     */
    public function nameOf(int $node): string
    {
        $name = $this->c->stead_map_node_name($this->map, $node);
        if ($name === null) {
            throw Exception::of(Status::Internal, "libstead answered with node $node, which the map does not have: a fault in stead, please report it");
        }
        return $this->names[$node] = $name;
    }

    /** Throws: a map cannot be changed. */
    public function __clone(): void
    {
        throw Exception::of(Status::Invalid, 'a map never changes, so it has no copies: use the same object');
    }

    /** Throws: a map points to memory of this process, which cannot be serialized. */
    public function __serialize(): array
    {
        throw Exception::of(Status::Invalid, 'a map is memory of this process: keep its toBytes(), and make it again with Map::fromBytes');
    }

    /** @param array<mixed> $data */
    public function __unserialize(array $data): void
    {
        throw Exception::of(Status::Invalid, 'a map cannot be unserialized: Map::fromBytes makes it of its bytes');
    }

    /** @return array<string, mixed> */
    public function __debugInfo(): array
    {
        return ['name' => $this->name(), 'epoch' => $this->epoch(), 'digest' => \bin2hex($this->digest())];
    }

    /** @return list<string> */
    private function namesOf(object $nodes, int $count): array
    {
        $names = [];
        for ($i = 0; $i < $count; $i++) {
            $node = $nodes[$i];
            $names[] = $this->names[$node] ?? $this->nameOf($node);
        }
        return $names;
    }

    private function nodeOf(int $node): Node
    {
        if ($this->c->stead_map_node_weight($this->map, $node, $this->ffi->point, $this->ffi->error) !== 0) {
            $this->ffi->fail();
        }
        return Node::of($this->nameOf($node), self::decimal($this->ffi->point[0]), $this);
    }

    /** Returns a weight as an exact decimal. */
    private static function decimal(int $millionths): string
    {
        $places = \rtrim(\sprintf('%06d', $millionths % 1_000_000), '0');
        return \intdiv($millionths, 1_000_000) . ($places === '' ? '' : ".$places");
    }

    /** @return array{list<string>, ?string} */
    private function policyOf(int $policy): array
    {
        [$c, $ffi] = [$this->c, $this->ffi];
        do {
            $nodes = $ffi->nodes;
            if ($c->stead_map_policy_nodes($this->map, $policy, $nodes, $ffi->capacity, $ffi->count, $ffi->error) !== 0) {
                $ffi->fail();
            }
            $count = $ffi->count[0];
        } while ($count > $ffi->capacity && $ffi->grow($count));
        return [$this->namesOf($nodes, $count), $c->stead_map_policy_name($this->map, $policy)];
    }

    /** @return array<string> */
    private function textsOf(int $node, string $what): array
    {
        $texts = [];
        for ($i = 0, $count = $this->c->{"stead_map_node_{$what}_count"}($this->map, $node); $i < $count; $i++) {
            $name = $this->c->{"stead_map_node_{$what}_name"}($this->map, $node, $i);
            $texts[$name] = $this->c->{"stead_map_node_$what"}($this->map, $node, $name);
        }
        return $texts;
    }

    private function numberOf(string $name): int
    {
        return \str_contains($name, "\0") ? -1 : $this->c->stead_map_node_named($this->map, $name);
    }

    /**
     * Returns the answers with the array keys of the keys. The answer for null, which was located as
     * the empty key, becomes null.
     *
     * @param array<?string> $keys
     * @param list<mixed> $answers
     * @return array<mixed>
     */
    private static function beside(array $keys, array $answers): array
    {
        if (!\array_is_list($keys)) {
            $answers = \array_combine(\array_keys($keys), $answers);
        }
        foreach (\array_keys($keys, null, true) as $place) {
            $answers[$place] = null;
        }
        return $answers;
    }

    private function known(string $name): int
    {
        $node = $this->numberOf($name);
        if ($node < 0) {
            throw Exception::of(Status::Invalid, "this map has no node \"$name\"; nodes() lists those that it has");
        }
        return $node;
    }
}
