<?php

declare(strict_types=1);

namespace Stead;

/**
 * A map, and the map where its data was while a carry is open: it says where to read and to write.
 *
 *     $pair = Stead\Pair::open('/srv/members.map');
 *     foreach ($pair->writes('frank') as $node) ...
 *
 * Nodes are named as in the new map; a node that only the old map has is named as there. Open the
 * pair in each request, as a map. Every failure throws a Stead\Exception.
 */
final class Pair
{
    private const STATES = [1 => 'old', 'both_old_first', 'both_new_first', 'new'];

    private readonly Ffi $ffi;
    private readonly object $c;
    private readonly Handle $handle;
    private readonly object $pair;
    /** @var array<int, string> the names of nodes by their numbers, each added when it is needed */
    private array $names = [];

    private function __construct(Ffi $ffi)
    {
        $this->ffi = $ffi;
        $this->c = $ffi->c;
        $this->pair = $ffi->pair[0];
        $this->handle = new Handle($this->c, $this->pair, 'stead_pair_free');
    }

    /**
     * Opens a map file and, while a carry is open, the map where the data was. Without a carry the pair
     * has the new map alone, and answers like it. This costs two stats if the process has the files open
     * already and they are unchanged.
     *
     * @param bool $copy as in Map::open
     * @param ?int $epoch take this epoch of the history as the old map, and `state` as the state,
     *     instead of those of the carry
     * @param ?string $state 'old', 'both_old_first', 'both_new_first' or 'new'
     * @throws Exception those of Map::open; also NotFoundException if the history lacks the old map, and
     *     IdentityException if it has another one under its number
     */
    public static function open(string $path, bool $copy = false, ?int $epoch = null, ?string $state = null): Pair
    {
        $ffi = Ffi::load();
        $path = Text::ended($path, 'the path');
        if (($epoch === null) !== ($state === null)) {
            throw Exception::of(Status::Invalid, 'epoch and state belong together; give both, or none');
        }
        $status = $epoch === null || $state === null
            ? $ffi->c->stead_pair_open($path, $copy ? 1 : 0, $ffi->pair, $ffi->error)
            : $ffi->c->stead_pair_open_from($path, $epoch, self::number($state), $ffi->pair, $ffi->error);
        if ($status !== 0) {
            $ffi->fail();
        }
        return new self($ffi);
    }

    /**
     * Makes a pair of two maps, as if a carry from the old one to the new one were open in this state.
     *
     * @param string $state 'old', 'both_old_first', 'both_new_first' or 'new'
     * @throws Exception\IdentityException if the maps are of two clusters or have two hashes
     */
    public static function between(Map $old, Map $new, string $state): Pair
    {
        $ffi = Ffi::load();
        if ($ffi->c->stead_pair_between($old->pointer(), $new->pointer(), self::number($state), $ffi->pair, $ffi->error) !== 0) {
            $ffi->fail();
        }
        return new self($ffi);
    }

    /** The state of the carry: 'old', 'both_old_first', 'both_new_first' or 'new'; null if none is open. */
    public function state(): ?string
    {
        return self::STATES[$this->c->stead_pair_state($this->pair)] ?? null;
    }

    /** The map where the data will be, or is. */
    public function new(): Map
    {
        return Map::held($this->ffi, $this->c->stead_pair_new_map($this->pair));
    }

    /** The map where the data was; null if no carry is open. */
    public function old(): ?Map
    {
        $map = $this->c->stead_pair_old_map($this->pair);
        return $map === null ? null : Map::held($this->ffi, $map);
    }

    /**
     * Returns the names of the nodes to read a key from, in this order. The first node that answers
     * decides, also when it answers that there is no such key. Go on to the next node only if one does
     * not answer at all. A new place is not among them while data is copied to it.
     *
     * @return list<string>
     */
    public function reads(string $key): array
    {
        return $this->list(fn (): int
            => $this->c->stead_pair_reads($this->pair, $key, \strlen($key), $this->ffi->nodes, $this->ffi->capacity, $this->ffi->count, $this->ffi->error));
    }

    /**
     * Returns the names of the nodes to write a key to, or to delete it from, in this order. The write
     * is done when all of them have it.
     *
     * @return list<string>
     */
    public function writes(string $key): array
    {
        return $this->list(fn (): int
            => $this->c->stead_pair_writes($this->pair, $key, \strlen($key), $this->ffi->nodes, $this->ffi->capacity, $this->ffi->count, $this->ffi->error));
    }

    /**
     * Returns whether the two maps answer differently for a key: with other nodes, or with the same in
     * another order. Where they do not, every state reads and writes the same nodes.
     */
    public function moved(string $key): bool
    {
        return $this->c->stead_pair_moved($this->pair, $key, \strlen($key)) === 1;
    }

    /**
     * Returns for a point what reads returns for a key.
     *
     * @return list<string>
     */
    public function readsPoint(int $point): array
    {
        return $this->list(fn (): int
            => $this->c->stead_pair_reads_point($this->pair, $point, $this->ffi->nodes, $this->ffi->capacity, $this->ffi->count, $this->ffi->error));
    }

    /**
     * Returns for a point what writes returns for a key.
     *
     * @return list<string>
     */
    public function writesPoint(int $point): array
    {
        return $this->list(fn (): int
            => $this->c->stead_pair_writes_point($this->pair, $point, $this->ffi->nodes, $this->ffi->capacity, $this->ffi->count, $this->ffi->error));
    }

    /** Returns for a point what moved returns for a key. */
    public function movedPoint(int $point): bool
    {
        return $this->c->stead_pair_moved_point($this->pair, $point) === 1;
    }

    /**
     * Returns an attribute of a node, such as its address; null if the node has no such attribute.
     *
     * @throws Exception\InvalidException if neither map has the node
     */
    public function attribute(string $node, string $attribute): ?string
    {
        $number = $this->c->stead_pair_node_named($this->pair, Text::ended($node, "the node's name"));
        if ($number < 0) {
            throw Exception::of(Status::Invalid, "this pair has no node \"$node\"");
        }
        $text = $this->c->stead_pair_node_attribute($this->pair, $number, Text::ended($attribute, "the attribute's name"));
        return $text === null ? null : (\is_string($text) ? $text : $this->ffi->bytes($text));
    }

    /** Throws: a pair cannot be changed. */
    public function __clone(): void
    {
        throw Exception::of(Status::Invalid, 'a pair never changes, so it has no copies: use the same object');
    }

    /** Throws: a pair points to memory of this process, which cannot be serialized. */
    public function __serialize(): array
    {
        throw Exception::of(Status::Invalid, 'a pair is memory of this process: keep its two maps, and make it again with Pair::between');
    }

    /** @param array<mixed> $data */
    public function __unserialize(array $data): void
    {
        throw Exception::of(Status::Invalid, 'a pair cannot be unserialized: Pair::open and Pair::between make one');
    }

    /** @return array<string, mixed> */
    public function __debugInfo(): array
    {
        return ['old' => $this->old(), 'new' => $this->new(), 'state' => $this->state()];
    }

    /** Returns the number of a state. */
    private static function number(string $state): int
    {
        $number = \array_search($state, self::STATES, true);
        if ($number === false) {
            throw Exception::of(Status::Invalid, "\"$state\" is no state of a carry; write one of " . \implode(', ', self::STATES));
        }
        return $number;
    }

    /**
     * Returns the names of the nodes whose numbers a call writes.
     *
     * @param callable(): int $call
     * @return list<string>
     */
    private function list(callable $call): array
    {
        $ffi = $this->ffi;
        do {
            if ($call() !== 0) {
                $ffi->fail();
            }
            $count = $ffi->count[0];
        } while ($count > $ffi->capacity && $ffi->grow($count));
        $names = [];
        for ($i = 0; $i < $count; $i++) {
            $node = $ffi->nodes[$i];
            $names[] = $this->names[$node] ??= $this->name($node);
        }
        return $names;
    }

    private function name(int $node): string
    {
        $name = $this->c->stead_pair_node_name($this->pair, $node);
        return \is_string($name) ? $name : $this->ffi->bytes($name);
    }
}
