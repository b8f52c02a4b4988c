<?php

declare(strict_types=1);

namespace Stead\Tests;

use Stead\Exception\IdentityException;
use Stead\Exception\InvalidException;
use Stead\Exception\NotFoundException;
use Stead\Map;
use Stead\Pair;

final class PairTest extends Cases
{
    private const STATES = ['old', 'both_old_first', 'both_new_first', 'new'];

    public function testEachStateHasItsPlaces(): void
    {
        $old = self::map('db1', 'db2');
        $new = Map::build(self::fleet('db1', 'db2', 'db3'), $old);
        $moved = 0;
        for ($i = 0; $i < 300; $i++) {
            $key = "key$i";
            [$was, $is] = [$old->locate($key), $new->locate($key)];
            $reads = $was === $is ? array_fill(0, 4, [$was]) : [[$was], [$was], [$is, $was], [$is]];
            $writes = $was === $is ? $reads : [[$was], [$was, $is], [$is, $was], [$is]];
            $moved += $was === $is ? 0 : 1;
            foreach (self::STATES as $n => $state) {
                $pair = Pair::between($old, $new, $state);
                $point = $new->point($key);
                $found = [$pair->reads($key), $pair->writes($key), $pair->readsPoint($point), $pair->writesPoint($point)];
                self::assertSame([$reads[$n], $writes[$n], $reads[$n], $writes[$n]], $found);
                self::assertSame([$was !== $is, $was !== $is], [$pair->moved($key), $pair->movedPoint($point)]);
            }
        }
        self::assertGreaterThan(50, $moved);
    }

    public function testAPairKnowsItsMapsAndNodes(): void
    {
        $old = self::map('db1', 'gone');
        $fleet = ['name' => 'm', 'node' => [['name' => 'db1', 'attributes' => ['address' => 'x']], ['name' => 'db2']]];
        $new = Map::build(['name' => $old->name()] + $fleet, $old);
        $pair = Pair::between($old, $new, 'both_old_first');
        self::assertSame('both_old_first', $pair->state());
        self::assertSame([$old->digest(), $new->digest()], [$pair->old()?->digest(), $pair->new()->digest()]);
        self::assertSame(['x', null, null], [$pair->attribute('db1', 'address'), $pair->attribute('db1', 'y'), $pair->attribute('gone', 'address')]);
        $this->thrown(fn () => $pair->attribute('none', 'address'), InvalidException::class, 'no node "none"');
        self::assertSame(['old', 'new', 'state'], array_keys($pair->__debugInfo()));
        unset($old, $new);
        gc_collect_cycles();
        self::assertSame(1, $pair->old()?->epoch());
    }

    public function testMistakesHaveTheirExceptions(): void
    {
        $map = self::map('db1', 'db2');
        $this->thrown(fn () => Pair::between($map, $map, 'both'), InvalidException::class, 'no state of a carry');
        $this->thrown(fn () => Pair::between(Map::build(['name' => 'other', 'node' => [['name' => 'a']]]), $map, 'old'), IdentityException::class, 'two clusters');
        $this->thrown(fn () => Pair::open('nowhere.map'), NotFoundException::class, 'nowhere.map');
        $this->thrown(fn () => Pair::open('nowhere.map', epoch: 1), InvalidException::class, 'belong together');
        $pair = Pair::between($map, $map, 'new');
        $this->thrown(fn () => clone $pair, InvalidException::class, 'no copies');
        $this->thrown(fn () => serialize($pair), InvalidException::class, 'Pair::between');
        $this->thrown(fn () => unserialize('O:10:"Stead\Pair":0:{}'), InvalidException::class, 'cannot be unserialized');
    }

    public function testAPairFollowsTheMapFile(): void
    {
        $maps = \dirname(__DIR__, 2) . '/tests/maps';
        $path = sys_get_temp_dir() . '/stead-pair-' . getmypid() . '.map';
        try {
            copy("$maps/three.map", $path);
            $plain = Pair::open($path);
            self::assertSame([null, null, false], [$plain->state(), $plain->old(), $plain->moved('k')]);
            self::assertSame($plain->new()->locateAll('k'), $plain->reads('k'));
            unlink($path);
            copy("$maps/carry-both-new.map", $path);
            $this->thrown(fn () => Pair::open($path), NotFoundException::class, 'the map where its data was');
            mkdir("$path.history");
            copy("$maps/three.map", "$path.history/1");
            self::assertSame('both_new_first', Pair::open($path)->state());
            self::assertSame('both_new_first', Pair::open($path, true)->state());
            self::assertSame('old', Pair::open($path, epoch: 1, state: 'old')->state());
        } finally {
            @unlink("$path.history/1");
            @rmdir("$path.history");
            @unlink($path);
        }
    }
}
