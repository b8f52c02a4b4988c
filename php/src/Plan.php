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
final class Plan implements \Countable, \IteratorAggregate, \JsonSerializable
{
    private const CAUSES = [1 => 'pin', 2 => 'policy', 3 => 'rebalance'];

    private readonly Ffi $ffi;
    private readonly object $c;
    private readonly Handle $handle;
    private readonly object $plan;
    /** The C struct that moves are read into, and a pointer to it. */
    private readonly object $move;
    private readonly object $pointer;
    /** @var ?array<string, string> the amounts by their names; null until they are needed */
    private ?array $amounts = null;

    private function __construct(Ffi $ffi, private readonly Map $old, private readonly Map $new)
    {
        $this->ffi = $ffi;
        $this->c = $ffi->c;
        $this->plan = $ffi->plan[0];
        $this->handle = new Handle($this->c, $this->plan, 'stead_plan_free');
        $this->move = $ffi->room('stead_move');
        $this->pointer = $ffi->pointer($this->move);
    }

    /** @throws Exception\IdentityException if the maps are of two clusters or have two hashes */
    public static function between(Map $old, Map $new): Plan
    {
        $ffi = Ffi::load();
        if ($ffi->c->stead_plan_between($old->pointer(), $new->pointer(), $ffi->plan, $ffi->error) !== 0) {
            $ffi->fail();
        }
        return new self($ffi, $old, $new);
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

    /** @return \Iterator<int, Move> */
    public function getIterator(): \Iterator
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
        return $this->found(fn (object $indexes, int $room): int
            => $this->c->stead_plan_affects($this->plan, $key, \strlen($key), $indexes, $room, $this->ffi->count, $this->ffi->error));
    }

    /**
     * Returns the moves that contain a point: an empty list for a point that stays.
     *
     * @return list<Move>
     */
    public function affectsPoint(int $point): array
    {
        return $this->found(fn (object $indexes, int $room): int
            => $this->c->stead_plan_affects_point($this->plan, $point, $indexes, $room, $this->ffi->count, $this->ffi->error));
    }

    /**
     * Returns what moves of many keys: one row for each copy that moves, in the order of the keys. A
     * key that stays has no row, and neither has null.
     *
     * @param array<?string> $keys
     * @return list<Affected>
     */
    public function affectsMany(array $keys): array
    {
        $found = [];
        foreach (\array_chunk($keys, Ffi::BATCH, true) as $batch) {
            $offsets = Ffi::offsets($batch);
            $places = \array_keys($batch);
            foreach ($this->ffi->affectsMany($this->plan, \implode('', $batch), $offsets) as [$key, $from, $to]) {
                $place = $places[$key];
                if ($batch[$place] !== null) {
                    $found[] = new Affected($place, $from < 0 ? null : $this->old->nameOf($from), $to < 0 ? null : $this->new->nameOf($to));
                }
            }
        }
        return $found;
    }

    /** The part of all copies that rebalancing moves, from 0 to 1; of the map that has more copies. */
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
        return $this->amount('moved');
    }

    /**
     * The lower bound on moved(): the least that any rebalancing to the new shares moves, in copies
     * of points.
     */
    public function lowerBound(): string
    {
        return $this->amount('lower_bound');
    }

    /** The number of copies of points that move because pins or policies were changed by hand. */
    public function byHand(): string
    {
        return $this->amount('by_hand');
    }

    /** The number of points whose primary changes although the old primary still holds a copy. */
    public function reordered(): string
    {
        return $this->amount('reordered');
    }

    /**
     * Returns the plan in the shape of `stead diff --json` (docs/cli.md): the amount that moves,
     * its lower bound, and every node's share.
     *
     * @return array<string, mixed>
     */
    public function report(bool $moves = false): array
    {
        if ($this->c->stead_plan_report($this->plan, $moves ? 1 : 0, $this->ffi->text, $this->ffi->error) !== 0) {
            $this->ffi->fail();
        }
        return \json_decode($this->ffi->takeText(), true, 512, \JSON_THROW_ON_ERROR);
    }

    /**
     * Returns the report without moves, for json_encode.
     *
     * @return array<string, mixed>
     */
    public function jsonSerialize(): array
    {
        return $this->report();
    }

    /** Throws: a plan cannot be changed. */
    public function __clone(): void
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

    /**
     * Returns the moves whose numbers a call writes.
     *
     * @param callable(object, int): int $call
     * @return list<Move>
     */
    private function found(callable $call): array
    {
        // room for one move for each of a few replicas; a named policy may need more
        for ($room = 16;; $room = $count) {
            $indexes = $this->ffi->room("size_t[$room]");
            if ($call($indexes, $room) !== 0) {
                $this->ffi->fail();
            }
            $count = $this->ffi->count[0];
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

    private function move(int $index): Move
    {
        if ($this->c->stead_plan_move($this->plan, $index, $this->pointer, $this->ffi->error) !== 0) {
            $this->ffi->fail();
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

    private function amount(string $what): string
    {
        if ($this->amounts === null) {
            $amounts = $this->ffi->room('stead_amounts');
            if ($this->c->stead_plan_amounts($this->plan, $this->ffi->pointer($amounts), $this->ffi->error) !== 0) {
                $this->ffi->fail();
            }
            foreach (['moved', 'lower_bound', 'by_hand', 'reordered'] as $name) {
                $this->amounts[$name] = self::decimal($amounts->$name->high, $amounts->$name->low);
            }
        }
        return $this->amounts[$what];
    }

    /**
     * Returns high * 2^64 + low as a decimal, where high is below 256. It divides by 10^9 as by hand,
     * with digits of 32 bits, so that nothing is larger than an int.
     */
    private static function decimal(int $high, int $low): string
    {
        $digits = [$high, ($low >> 32) & 0xffffffff, $low & 0xffffffff];
        $decimal = '';
        do {
            $rest = 0;
            foreach ($digits as $i => $digit) {
                $value = ($rest << 32) | $digit;
                $digits[$i] = \intdiv($value, 1_000_000_000);
                $rest = $value % 1_000_000_000;
            }
            $decimal = \sprintf('%09d', $rest) . $decimal;
        } while ($digits !== [0, 0, 0]);
        return \ltrim($decimal, '0') ?: '0';
    }
}
