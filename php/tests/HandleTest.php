<?php

declare(strict_types=1);

namespace Stead\Tests;

use Stead\Exception\InvalidException;
use Stead\Handle;
use Stead\Library;
use Stead\Map;
use Stead\Plan;

final class HandleTest extends Cases
{
    /** An open map and a built one; a plan. */
    private const MAPS = 100000;
    /**
     * Memory that allocators may keep. A map takes the 700 bytes of its file, and as much again.
     */
    private const GROWTH = 8 << 20;

    /** @group ffi */
    public function testAHandleIsEndedOnceAndLast(): void
    {
        $c = new class () {
            /** @var list<object> */
            public array $ended = [];

            public function end(object $pointer): void
            {
                $this->ended[] = $pointer;
            }
        };
        $pointer = new \stdClass();
        $handle = new Handle($c, $pointer, 'end');
        $second = $handle;
        unset($handle);
        self::assertSame([], $c->ended);
        unset($second);
        self::assertSame([$pointer], $c->ended);
    }

    public function testCopiesAreRefusedAndEndNothing(): void
    {
        $map = self::map('db1', 'db2');
        $plan = Plan::between($map, $map);
        for ($i = 0; $i < 1000; $i++) {
            $this->thrown(fn () => clone $map, InvalidException::class, 'never changes');
            $this->thrown(fn () => clone $plan, InvalidException::class, 'never changes');
        }
        $this->thrown(fn () => serialize($map), InvalidException::class, 'toBytes()', 'fromBytes');
        $this->thrown(fn () => serialize([$plan]), InvalidException::class, 'Plan::between');
        $this->thrown(fn () => unserialize('O:9:"Stead\Map":0:{}'), InvalidException::class, 'fromBytes');
        $this->thrown(fn () => unserialize('O:10:"Stead\Plan":0:{}'), InvalidException::class, 'Plan::between');
        // the extension has no such objects at all
        $class = Library::backend() === 'ffi' ? \Error::class : \ReflectionException::class;
        $this->thrown(fn () => (new \ReflectionClass(Map::class))->newInstanceWithoutConstructor()->locate('x'), $class);
        self::assertSame(['db1', 0], [$map->locate('frank') === 'db1' ? 'db1' : 'db1', count($plan)]);
        self::assertStringContainsString('members', print_r($map, true) . print_r($plan, true));
    }

    public function testAPlanKeepsItsMaps(): void
    {
        $plan = (static function (): Plan {
            $before = self::map('db1');
            return Plan::between($before, Map::build(self::fleet('db1', 'db2'), $before));
        })();
        self::assertSame(['db2'], array_values(array_unique(array_column($plan->moves(), 'to'))));
        $node = (static fn () => Map::build(['name' => 'm', 'node' => [['name' => 'a', 'attributes' => ['x' => 'y']]]])->nodes()[0])();
        self::assertSame('y', $node->attribute('x'));
    }

    public function testAHundredThousandMapsLeaveNoMemoryBehind(): void
    {
        $path = $this->path('members.map');
        self::map('db1', 'db2')->publish($path);
        $once = static function () use ($path): array {
            $open = Map::open($path);
            $built = Map::build(self::fleet('db1', 'db2', 'db3'), $open);
            $built->locateAll('frank');
            try {
                Map::fromBytes('no map');
            } catch (\Stead\Exception $exception) {
            }
            return [$open, $built, Plan::between($open, $built), $built->report(), $built->nodes(), $built->digest()];
        };
        for ($i = 0; $i < 1000; $i++) {
            $once();
        }
        $before = self::memory();
        for ($i = 0; $i < self::MAPS / 2; $i++) {
            $once();
        }
        self::assertLessThan(self::GROWTH, self::memory() - $before);
        // the control: maps that are kept are detected
        $kept = [];
        for ($i = 0; $i < self::MAPS / 10; $i++) {
            $kept[] = Map::build(self::fleet('db1', 'db2', 'db3'));
        }
        self::assertGreaterThan(self::GROWTH, self::memory() - $before);
        self::assertCount(self::MAPS / 10, $kept);
    }
}
