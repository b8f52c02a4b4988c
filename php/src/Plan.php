<?php

declare(strict_types=1);

namespace Stead;

/**
 * The difference between two maps of one cluster, before the new one is published or afterwards. It
 * is a list of Move sorted by first point, with one Move for each run of points of which a copy
 * moves, is added or is dropped.
 *
 *     foreach (Stead\Plan::between($before, $after) as $move) ...
 *
 * @implements \IteratorAggregate<int, Move>
 */
final class Plan implements \Countable, \IteratorAggregate
{
    private const CAUSES = [1 => 'pin', 2 => 'policy', 3 => 'rebalance'];

    private readonly Library $library;
    private readonly object $c;
    private readonly Handle $handle;
    private readonly object $plan;
    /** The C struct that moves are read into, and a pointer to it. */
    private readonly object $move;
    private readonly object $pointer;
    /** @var ?array<string, mixed> the report without moves; null until it is needed */
    private ?array $report = null;

    private function __construct(Library $library, private readonly Map $old, private readonly Map $new)
    {
        $this->library = $library;
        $this->c = $library->c;
        $this->plan = $library->plan[0];
        $this->handle = new Handle($this->c, $this->plan, 'stead_plan_free');
        $this->move = $library->room('stead_move');
        $this->pointer = $library->pointer($this->move);
    }

    /** @throws Exception\IdentityException if the maps are of two clusters or have two hashes */
    public static function between(Map $old, Map $new): self
    {
        $library = Library::load();
        if ($library->c->stead_plan_between($old->pointer(), $new->pointer(), $library->plan, $library->error) !== 0) {
            $library->fail();
        }
        return new self($library, $old, $new);
    }

    /** The map before. */
    public function old(): Map
    {
        return $this->old;
    }

    /** The map after. */
    public function new(): Map
    {
        return $this->new;
    }

    /** The number of moves. */
    public function count(): int
    {
        return $this->c->stead_plan_count($this->plan);
    }

    /** @return \Generator<int, Move> */
    public function getIterator(): \Generator
    {
        for ($i = 0, $count = $this->count(); $i < $count; $i++) {
            yield $i => $this->move($i);
        }
    }

    /**
     * All moves.
     *
     * @return list<Move>
     */
    public function moves(): array
    {
        return \iterator_to_array($this, false);
    }

    /**
     * Returns the moves that concern a key: an empty list for a key that stays.
     *
     * @return list<Move>
     */
    public function affects(string $key): array
    {
        // room for one move for each of a few replicas; a named policy may need more
        for ($room = 16;; $room = $count) {
            $indexes = $this->library->room("size_t[$room]");
            if ($this->c->stead_plan_affects($this->plan, $key, \strlen($key), $indexes, $room, $this->library->count, $this->library->error) !== 0) {
                $this->library->fail();
            }
            $count = $this->library->count[0];
            if ($count <= $room) {
                break;
            }
        }
        $moves = [];
        for ($i = 0; $i < $count; $i++) {
            $moves[] = $this->move($indexes[$i]);
        }
        return $moves;
    }

    /** The part of all copies that rebalancing moves, from 0 to 1. */
    public function fraction(): float
    {
        return $this->c->stead_plan_fraction($this->plan);
    }

    /**
     * The number of copies of points that rebalancing moves, as a decimal string: up to replicas *
     * 2^64, which is too large for an int.
     */
    public function moved(): string
    {
        return $this->points('moved');
    }

    /**
     * The lower bound on moved(): the least that any rebalancing to the new shares moves, in copies
     * of points.
     */
    public function lowerBound(): string
    {
        return $this->points('lower_bound');
    }

    /** The number of copies of points that move because pins or policies were changed by hand. */
    public function byHand(): string
    {
        return $this->points('by_hand');
    }

    /** The number of points whose primary changes although the old primary still holds a copy. */
    public function reordered(): string
    {
        return $this->points('reordered');
    }

    /**
     * Returns the plan in the shape of `stead diff --json` (docs/cli.md): the amount that moves,
     * its lower bound, and every node's share.
     *
     * @return array<string, mixed>
     */
    public function report(bool $moves = false): array
    {
        if ($this->c->stead_plan_report($this->plan, $moves ? 1 : 0, $this->library->text, $this->library->error) !== 0) {
            $this->library->fail();
        }
        return \json_decode($this->library->takeText(), true, 512, \JSON_THROW_ON_ERROR);
    }

    /** Throws: a plan cannot be changed. */
    public function __clone()
    {
        throw Exception::of(Status::Invalid, 'a plan never changes, so it has no copies: use the same object');
    }

    /** Throws: a plan points to memory of this process, which cannot be serialized. */
    public function __serialize(): array
    {
        throw Exception::of(Status::Invalid, 'a plan is memory of this process: keep its two maps, and make it again with Plan::between');
    }

    /** @param array<mixed> $data */
    public function __unserialize(array $data): void
    {
        throw Exception::of(Status::Invalid, 'a plan cannot be unserialized: Plan::between makes it of two maps');
    }

    /** @return array<string, mixed> */
    public function __debugInfo(): array
    {
        return ['old' => $this->old, 'new' => $this->new, 'moves' => $this->count(), 'fraction' => $this->fraction()];
    }

    private function move(int $index): Move
    {
        if ($this->c->stead_plan_move($this->plan, $index, $this->pointer, $this->library->error) !== 0) {
            $this->library->fail();
        }
        [$from, $to] = [$this->move->from, $this->move->to];
        return new Move(
            $this->move->first,
            $this->move->last,
            $from < 0 ? null : $this->old->nameOf($from),
            $to < 0 ? null : $this->new->nameOf($to),
            self::CAUSES[$this->move->cause] ?? 'unknown',
        );
    }

    private function points(string $what): string
    {
        $this->report ??= $this->report();
        return $this->report[$what]['points'];
    }
}
