<?php

declare(strict_types=1);

namespace Stead\Tests;

use Stead\Exception\ChangedException;
use Stead\Exception\FleetException;
use Stead\Exception\InvalidException;
use Stead\Exception\NotFoundException;
use Stead\Fold;
use Stead\Map;
use Stead\Node;
use Stead\Path;
use Stead\Point;
use Stead\Policy;

final class MapTest extends Cases
{
    public function testAMapAnswers(): void
    {
        $map = Map::build(['name' => 'members', 'node' => [['name' => 'db1'], ['name' => 'db2', 'weight' => 1.5]]]);
        self::assertSame('db1', $map->locate('frank'));
        self::assertSame(['db2'], $map->locateAll('bob'));
        self::assertSame(['db1', 'db2'], $map->prefer('frank', 5));
        self::assertSame('26253c50741faa9c', Point::hex($map->point('frank')));
        self::assertSame(['db1', 'db2', 'db2'], array_map($map->locatePoint(...), [0, -1, PHP_INT_MIN]));
        self::assertSame([['db1'], ['db2'], ['db2']], array_map($map->locateAllPoint(...), [0, -1, PHP_INT_MIN]));
        self::assertSame(['members', 1, 1], [$map->name(), $map->epoch(), $map->replicas()]);
    }

    public function testEveryByteOfAKeyCounts(): void
    {
        // the first 8 bytes of PHP's own MD5, for keys with NUL, line ends, Latin-1, invalid UTF-8
        // and emoji, and for the empty key
        $map = self::map(...array_map(static fn (int $i): string => "db$i", range(1, 50)));
        $keys = ['', "\0", "a\0", "a\0b", "\0a", 'a', "a\n", "a\r\n", ' a', "Sp\xe4ti", "Späti", "\xff\xfe", "\xed\xa0\x80", '😀', "x\u{0301}", str_repeat('k', 1 << 20)];
        foreach ($keys as $key) {
            self::assertSame(substr(md5($key), 0, 16), Point::hex($map->point($key)));
            self::assertSame($map->locatePoint($map->point($key)), $map->locate($key));
        }
        self::assertSame(array_map($map->locate(...), $keys), $map->locateMany($keys));
        self::assertCount(count($keys), array_unique(array_map($map->point(...), $keys)));
    }

    public function testLocateManyKeepsPlacesAndNull(): void
    {
        $map = self::map('db1', 'db2', 'db3');
        self::assertSame([], $map->locateMany([]));
        self::assertSame([null, 7 => null], $map->locateMany([null, 7 => null]));
        $found = $map->locateMany(['x' => 'frank', 3 => null, 'y' => 'bob', 1 => '']);
        self::assertSame(['x' => $map->locate('frank'), 3 => null, 'y' => $map->locate('bob'), 1 => $map->locate('')], $found);
        // more than one batch; some batches end between keys that are null
        $keys = array_map(static fn (int $i): ?string => $i % 8191 === 0 ? null : "k$i", range(0, 50000));
        self::assertSame(array_map(static fn (?string $key) => $key === null ? null : $map->locate($key), $keys), $map->locateMany($keys));
    }

    public function testManyKeysLiveWhereEachOfThemLives(): void
    {
        $map = Map::build(['replicas' => 2] + self::fleet('db1', 'db2', 'db3', 'db4', 'db5'));
        $all = static fn (?string $key): ?array => $key === null ? null : $map->locateAll($key);
        $one = static fn (?string $key): ?string => $key === null ? null : $map->locate($key);
        $bytes = implode('', array_map('chr', range(0, 255)));
        // around the sizes of batches (2,048 and 8,192 keys), with keys of 0 to 300 bytes
        foreach ([1, 301, 2047, 2048, 2049, 8191, 8192, 8193] as $count) {
            $keys = [];
            for ($i = 0; $i < $count; $i++) {
                $keys[] = $i % 97 === 5 ? null : substr("$i " . $bytes . $bytes, 0, $i % 301);
            }
            self::assertSame(array_map($one, $keys), $map->locateMany($keys), "$count keys");
            self::assertSame(array_map($all, $keys), $map->locateAllMany($keys), "$count keys");
        }
        $keys = array_map(static fn (int $i): string => "user$i", range(1, 100_000));
        self::assertSame(array_map($one, $keys), $map->locateMany($keys));
        self::assertSame([], $map->locateAllMany([]));
        self::assertSame([null, 7 => null], $map->locateAllMany([null, 7 => null]));
    }

    public function testAnswersToManyKeysAreAnArrayLikeThatOfTheKeys(): void
    {
        $map = self::map('db1', 'db2', 'db3');
        $frank = $map->locate('frank');
        // holes and references
        $keys = ['x', 'y', 'frank', 'z'];
        unset($keys[0], $keys[3]);
        $key = 'frank';
        $keys['reference'] = &$key;
        $found = $map->locateMany($keys);
        self::assertSame([1, 2, 'reference'], array_keys($found));
        self::assertSame([$frank, $frank], [$found[2], $found['reference']]);
        self::assertSame('frank', $key);
        self::assertSame([1, 2, 'reference'], array_keys($map->locateAllMany($keys)));
        // what the caller does with one answer changes no other
        $found = $map->locateMany(['frank', 'frank']);
        $found[0] .= ' and more';
        self::assertSame([$frank, $frank], [$found[1], $map->locate('frank')]);
        $lists = $map->locateAllMany(['frank', 'frank']);
        $lists[0][] = 'more';
        self::assertSame([$frank], $lists[1]);
    }

    public function testANamedPolicyMayHaveMoreNodesThanTheMapHasReplicas(): void
    {
        $map = Map::build(self::fleet('a', 'b', 'c') + [
            'policy' => [['name' => 'all', 'nodes' => ['c', 'a', 'b']]],
            'pin' => [['key' => 'frank', 'policy' => 'all']],
        ]);
        self::assertSame([$map->locateAll('x'), ['c', 'a', 'b'], ['c', 'a', 'b']], $map->locateAllMany(['x', 'frank', 'frank']));
    }

    public function testManyNodesOfAKeyHaveRoom(): void
    {
        // more than the buffer holds at first
        $names = array_map(static fn (int $i): string => sprintf('n%03d', $i), range(1, 200));
        $map = Map::build(['replicas' => 150] + self::fleet(...$names));
        $all = $map->locateAll('frank');
        self::assertCount(150, array_unique($all));
        self::assertSame($all, $map->locateAllPoint($map->point('frank')));
        self::assertSame($all, array_slice($map->prefer('frank', 1000), 0, 150));
        self::assertCount(200, $map->prefer('frank', PHP_INT_MAX));
        self::assertSame([], $map->prefer('frank', 0));
        self::assertContains($all, array_map(static fn ($slice): array => $slice->nodes, $map->slices()));
        self::assertSame(150, $map->replicas());
    }

    public function testNodesHaveWeightsLabelsAndAttributes(): void
    {
        $map = Map::build(['name' => 'm', 'node' => [
            ['name' => 'a', 'weight' => 0.000001, 'labels' => ['zone' => 'x'], 'attributes' => ['address' => '10.0.0.1:1', '7' => 'seven']],
            ['name' => 'b', 'weight' => 1000000, 'labels' => [], 'attributes' => ['zero']],
            ['name' => 'c', 'weight' => '2.50'],
        ]]);
        self::assertSame(['a' => '0.000001', 'b' => '1000000', 'c' => '2.5'], array_column($map->nodes(), 'weight', 'name'));
        [$a, $b] = $map->nodes();
        self::assertSame(['x', null, '10.0.0.1:1', 'seven', null], [$a->label('zone'), $a->label('rack'), $a->attribute('address'), $a->attribute('7'), $a->attribute('zone')]);
        self::assertSame(['zero', null], [$b->attribute('0'), $b->label('zone')]);
        self::assertSame([['zone' => 'x'], [], [7 => 'seven', 'address' => '10.0.0.1:1'], ['zero']], [$a->labels(), $b->labels(), $a->attributes(), $b->attributes()]);
        $json = '[{"name":"a","weight":"0.000001","labels":{"zone":"x"},"attributes":{"7":"seven","address":"10.0.0.1:1"}},'
            . '{"name":"b","weight":"1000000","labels":{},"attributes":{"0":"zero"}}]';
        self::assertSame($json, json_encode([$a, $b]));
        self::assertSame('10.0.0.1:1', $map->attribute('a', 'address'));
        self::assertSame('x', $map->label('a', 'zone'));
        self::assertEquals($a, $map->node('a'));
        self::assertNull($map->node('none'));
        self::assertNull($map->node("a\0"));
        $this->thrown(fn () => $map->attribute('none', 'address'), InvalidException::class, 'no node "none"');
        $this->thrown(fn () => $map->label('a', "zo\0ne"), InvalidException::class, 'NUL', 'zo\000ne');
    }

    public function testAMapSaysWhatItIsMadeOf(): void
    {
        $nodes = ['name' => 'm', 'node' => [['name' => 'a', 'labels' => ['zone' => 'x']], ['name' => 'b', 'labels' => ['zone' => 'y']]]];
        $first = Map::build(['hash' => 'xxh3', 'key' => 'first 2 segments', 'replicas' => 2, 'spread' => ['zone']] + $nodes);
        self::assertSame(['xxh3', 'first 2 segments', ['zone'], str_repeat("\0", 32)], [$first->hash(), $first->keyRule(), $first->spread(), $first->parent()]);
        $second = Map::build(self::fleet('db1', 'db2'), $one = self::map('db1'));
        self::assertSame(['md5', 'whole', [], $one->digest()], [$second->hash(), $second->keyRule(), $second->spread(), $second->parent()]);
        $policies = Map::build(['policy' => [['name' => 'big', 'kind' => 'chain', 'weight' => 0.5, 'nodes' => ['b', 'a']]]] + $nodes)->policies();
        self::assertContainsEquals(new Policy('big', 'chain', '0.5', ['b', 'a']), $policies);
        self::assertContainsEquals(new Policy(null, '', null, ['a']), $policies);
        self::assertJsonStringEqualsJsonString((string) json_encode($first->report()), (string) json_encode($first));
    }

    public function testANodeThatTheFleetDroppedIsLeavingUntilItIsEmpty(): void
    {
        $before = self::map('db1', 'db2', 'db3');
        $step = Map::build(self::fleet('db1', 'db2'), $before, '5%');
        $leaving = static fn (Map $map): array => array_map(static fn (Node $node): bool => $node->leaving(), $map->nodes());
        self::assertSame([[false, false, false], [false, false, true]], [$leaving($before), $leaving($step)]);
        self::assertSame([false, false], $leaving(Map::build(self::fleet('db1', 'db2'), $step)));
    }

    public function testAnUncachedOpenAndAPeek(): void
    {
        $path = $this->path('members.map');
        $first = self::map('db1');
        $first->publish($path);
        $open = Map::open($path);
        self::assertSame([[1, $first->digest()], $first->digest()], [Map::peek($path), Map::openUncached($path)->digest()]);
        // bytes that are replaced in place: open throws, because they are not the map that the process remembers
        $second = Map::build(self::fleet('db1', 'db2'), $first);
        $file = fopen($path, 'r+');
        ftruncate($file, 0);
        fwrite($file, $second->toBytes());
        fclose($file);
        self::assertSame($second->digest(), Map::openUncached($path)->digest());
        self::assertSame([2, $second->digest()], Map::peek($path));
        $this->thrown(fn () => Map::open($path), ChangedException::class);
        self::assertSame('db1', $open->locate('x'));
        $this->thrown(fn () => Map::openUncached($this->path('none')), NotFoundException::class, 'none');
        $this->thrown(fn () => Map::peek($this->path('none')), NotFoundException::class, 'none');
    }

    public function testAPinMayBeShort(): void
    {
        $digest = static fn (array $short): string => Map::build(self::fleet('db1') + ['pin' => [['key' => 'frank', 'nodes' => ['db1']] + $short]])->digest();
        $text = "name = 'members'\nnode = [{ name = 'db1' }]\npin = [{ key = 'frank', nodes = ['db1'], short = true }]\n";
        self::assertSame(Map::build($text)->digest(), $digest(['short' => true]));
        self::assertSame($digest([]), $digest(['short' => false]));
        self::assertNotSame($digest([]), $digest(['short' => true]));
        $this->thrown(fn () => $digest(['short' => 1]), FleetException::class, "fleet['pin'][0]['short']: short must be true or false", 'a number');
    }

    public function testSlicesCoverTheSpaceAndNamePolicies(): void
    {
        $fleet = self::fleet('db1', 'db2') + ['policy' => [['name' => 'cray', 'kind' => 'chain', 'nodes' => ['db2', 'db1']]], 'pin' => [['key' => 'justin', 'policy' => 'cray']]];
        $slices = Map::build($fleet)->slices();
        self::assertSame(['0000000000000000', 'ffffffffffffffff'], [Point::hex($slices[0]->first), Point::hex(end($slices)->last)]);
        foreach (array_slice($slices, 1) as $i => $slice) {
            // the next point; + would turn 7fffffffffffffff into a float
            $next = $slices[$i]->last === PHP_INT_MAX ? PHP_INT_MIN : $slices[$i]->last + 1;
            self::assertSame($next, $slice->first);
            self::assertLessThanOrEqual(0, Point::compare($slice->first, $slice->last));
        }
        $named = array_values(array_filter($slices, static fn ($slice): bool => $slice->policy !== null));
        self::assertCount(1, $named);
        self::assertSame(['cray', ['db2', 'db1'], $named[0]->first], [$named[0]->policy, $named[0]->nodes, $named[0]->last]);
        self::assertSame(substr(md5('justin'), 0, 16), Point::hex($named[0]->first));
    }

    public function testAMapIsItsBytes(): void
    {
        $map = self::map('db1', 'db2');
        $again = Map::fromBytes($map->toBytes());
        self::assertSame([$map->toBytes(), $map->digest()], [$again->toBytes(), $again->digest()]);
        self::assertSame(32, strlen($map->digest()));
        $next = Map::build(self::fleet('db1', 'db2'), $map);
        self::assertSame([2, true, false], [$next->epoch(), $next->same($map), $next->digest() === $map->digest()]);
        self::assertFalse(Map::build(self::fleet('db1'), $map)->same($map));
        self::assertSame(['db1', 'db2'], array_column($map->report()['nodes'], 'name'));
    }

    public function testAFileIsOpenedAndANewEpochIsSeen(): void
    {
        $path = $this->path('members.map');
        $first = self::map('db1');
        $first->publish($path);
        $open = Map::open($path);
        $copy = Map::open($path, copy: true);
        $second = Map::build(self::fleet('db1', 'db2'), $open);
        $second->publish($path, $open);
        self::assertSame([1, 1, 2, 2], [$open->epoch(), $copy->epoch(), Map::open($path)->epoch(), Map::open($path, true)->epoch()]);
        self::assertSame(['db1', 'db1'], [$open->locate('frank'), $open->locate('bob')]);
        $second->save($this->path('copy.map'));
        self::assertSame($second->digest(), Map::open($this->path('copy.map'))->digest());
        file_put_contents($this->path('fleet.json'), json_encode(self::fleet('db1', 'db2')));
        self::assertTrue(Map::buildFile($this->path('fleet.json'), $second)->same($second));
    }

    public function testAFleetIsTextOrArray(): void
    {
        $json = json_encode(self::fleet('db1', 'db2'), JSON_THROW_ON_ERROR);
        $toml = "name = 'members'\n[[node]]\nname = 'db1'\n[[node]]\nname = 'db2'\n";
        self::assertSame([self::map('db1', 'db2')->digest()], array_values(array_unique([Map::build($json)->digest(), Map::build($toml)->digest()])));
        $weights = static fn (mixed $weight): array => array_column(Map::build(['name' => 'm', 'node' => [['name' => 'a', 'weight' => $weight], ['name' => 'b']]])->nodes(), 'weight');
        foreach ([[0.1, '0.1'], [1.0, '1'], [1e6, '1000000'], [0.000001, '0.000001'], [123456.654321, '123456.654321'], [3, '3'], ['1.25', '1.25'], [0, '0']] as [$given, $kept]) {
            self::assertSame([$kept, '1'], $weights($given));
        }
        // php.ini's precision must have no effect
        $before = [ini_set('precision', '3'), ini_set('serialize_precision', '3')];
        try {
            self::assertSame(['123456.654321', '1'], $weights(123456.654321));
        } finally {
            ini_set('precision', (string) $before[0]);
            ini_set('serialize_precision', (string) $before[1]);
        }
        $step = Map::build(self::fleet('db1', 'db2'), self::map('db1'), maxMove: '5%');
        self::assertTrue($step->epoch() === 2 && !$step->same(Map::build(self::fleet('db1', 'db2'), self::map('db1'))));
    }

    public function testPathsAndPoints(): void
    {
        self::assertSame('38/37/60/frank', Path::of('frank'));
        self::assertSame(Path::of('frank', '16,16'), Path::of('frank', [16, 16]));
        self::assertSame(Path::of('frank'), Path::of('FRANK', fold: Fold::Ascii));
        self::assertNotSame(Path::of('frank'), Path::of('FRANK'));
        self::assertSame('18/40/72/frank=0a', Path::of("frank\n"));
        self::assertSame(["Sp\xc4ti", "sp\xc4ti"], [Fold::None->of("Sp\xc4ti"), Fold::Ascii->of("SP\xc4TI")]);
        foreach (['0000000000000000', '7fffffffffffffff', '8000000000000000', 'ffffffffffffffff'] as $hex) {
            self::assertSame($hex, Point::hex(Point::fromHex($hex)));
            self::assertSame(0, Point::compare(Point::fromHex($hex), Point::fromHex(strtoupper($hex))));
        }
        self::assertSame([-1, 1, -1], [Point::compare(0, -1), Point::compare(-1, 0), Point::compare(PHP_INT_MAX, PHP_INT_MIN)]);
        foreach (['', 'f', "ffffffffffffffff\n", '0x00000000000000', '00000000000000000', "00000000000000\0\0"] as $digits) {
            $this->thrown(fn () => Point::fromHex($digits), InvalidException::class, '16 hex digits');
        }
    }
}
