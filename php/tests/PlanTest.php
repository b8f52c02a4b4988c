<?php

declare(strict_types=1);

namespace Stead\Tests;

use Stead\Affected;
use Stead\Exception\IdentityException;
use Stead\Map;
use Stead\Plan;
use Stead\Point;

final class PlanTest extends Cases
{
    public function testAPlanListsWhatMoves(): void
    {
        $before = self::map('db1', 'db2');
        $after = Map::build(self::fleet('db1', 'db2', 'db3'), $before);
        $plan = Plan::between($before, $after);
        self::assertSame([2, 2], [count($plan), count($plan->moves())]);
        self::assertEquals($plan->moves(), iterator_to_array($plan));
        foreach ($plan as $move) {
            self::assertSame(['db3', 'rebalance'], [$move->to, $move->cause]);
            self::assertSame([$move->from, 'db3'], [$before->locatePoint($move->first), $after->locatePoint($move->last)]);
        }
        self::assertSame($plan->lowerBound(), $plan->moved());
        self::assertSame(['0', '0'], [$plan->byHand(), $plan->reordered()]);
        self::assertEqualsWithDelta(1 / 3, $plan->fraction(), 1e-15);
        self::assertSame([1, 2], [$plan->old()->epoch(), $plan->new()->epoch()]);
        self::assertArrayNotHasKey('moves', $plan->report());
        self::assertSame(Point::hex($plan->moves()[0]->first), $plan->report(moves: true)['moves'][0]['first']);
        // a sum of parts that are each below 2^63
        self::assertSame($plan->moved(), (string) array_sum(array_map(static fn ($move): int => $move->last - $move->first + 1, $plan->moves())));
    }

    public function testAffectsAgreesWithTheMoves(): void
    {
        $before = Map::build(['replicas' => 2] + self::fleet('db1', 'db2', 'db3'));
        $after = Map::build(['replicas' => 2] + self::fleet('db1', 'db2', 'db4', 'db5'), $before);
        $plan = Plan::between($before, $after);
        $concerned = 0;
        for ($i = 0; $i < 500; $i++) {
            $point = $after->point("k$i");
            $covers = static fn ($move): bool => Point::compare($move->first, $point) <= 0 && Point::compare($point, $move->last) <= 0;
            $moves = array_values(array_filter($plan->moves(), $covers));
            self::assertEquals($moves, $plan->affects("k$i"));
            self::assertEquals($moves, $plan->affectsPoint($point));
            $held = $before->locateAll("k$i");
            foreach ($moves as $move) {
                $held = array_merge(array_diff($held, [$move->from]), [$move->to]);
            }
            self::assertEqualsCanonicalizing($after->locateAll("k$i"), $held);
            $concerned += $moves === [] ? 0 : 1;
        }
        self::assertGreaterThan(100, $concerned);
        self::assertLessThan(500, $concerned);
    }

    public function testAffectsManyIsAffectsOfEachKey(): void
    {
        $before = Map::build(['replicas' => 2] + self::fleet('db1', 'db2', 'db3'));
        $plan = Plan::between($before, Map::build(['replicas' => 2] + self::fleet('db1', 'db2', 'db4', 'db5'), $before));
        self::assertSame([], $plan->affectsMany([]));
        self::assertSame([], $plan->affectsMany([null, 'x' => null]));
        // more than one batch, and array keys of both kinds
        $keys = [];
        for ($i = 0; $i < 20000; $i++) {
            $keys[$i % 2 === 0 ? "at$i" : $i] = $i % 1000 === 7 ? null : "k$i";
        }
        $wanted = [];
        foreach ($keys as $place => $key) {
            foreach ($key === null ? [] : $plan->affects($key) as $move) {
                $wanted[] = [$place, $move->from, $move->to];
            }
        }
        self::assertGreaterThan(10000, count($wanted));
        self::assertSame($wanted, array_map(static fn (Affected $row): array => [$row->key, $row->from, $row->to], $plan->affectsMany($keys)));
    }

    public function testAmountsAreThoseOfTheReport(): void
    {
        $names = array_map(static fn (int $i): string => "db$i", range(1, 20));
        $one = self::map(...$names);
        // 19 copies of 2^64 points are more than 64 bits, and the ends of 10^9 are hit by chance only
        foreach ([['replicas' => 20] + self::fleet(...$names), self::fleet('db1', 'db3'), self::fleet(...$names)] as $fleet) {
            $plan = Plan::between($one, Map::build($fleet, $one));
            $report = $plan->report();
            $amounts = [$plan->moved(), $plan->lowerBound(), $plan->byHand(), $plan->reordered()];
            self::assertSame(array_map(static fn (string $name): string => $report[$name]['points'], ['moved', 'lower_bound', 'by_hand', 'reordered']), $amounts);
            self::assertJsonStringEqualsJsonString((string) json_encode($report), (string) json_encode($plan));
        }
    }

    public function testCopiesComeAndGo(): void
    {
        $names = array_map(static fn (int $i): string => "db$i", range(1, 20));
        $one = self::map(...$names);
        $all = Map::build(['replicas' => 20] + self::fleet(...$names), $one);
        // 19 copies are added, more than the buffer holds at first
        $added = Plan::between($one, $all)->affects('frank');
        self::assertCount(19, $added);
        self::assertNull($added[0]->from);
        self::assertNull(Plan::between($all, Map::build(self::fleet(...$names), $all))->affects('frank')[0]->to);
    }

    public function testPlansThatAreNone(): void
    {
        $map = self::map('db1');
        self::assertCount(0, Plan::between($map, $map));
        self::assertSame([[], 0.0, []], [Plan::between($map, $map)->moves(), Plan::between($map, $map)->fraction(), Plan::between($map, $map)->affects('frank')]);
        $other = Map::build(['name' => 'others', 'node' => [['name' => 'db1']]]);
        $this->thrown(fn () => Plan::between($map, $other), IdentityException::class, 'members', 'others');
    }
}
