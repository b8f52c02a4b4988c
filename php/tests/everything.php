<?php

declare(strict_types=1);

// Calls every function of the extension, with arguments that are right and wrong, for valgrind: memory
// that is lost, or used after it was freed, is seen there. With an argument, it calls them in a
// single round, and then loses memory on purpose: the control.

use Stead\Fold;
use Stead\Map;
use Stead\Path;
use Stead\Plan;
use Stead\Point;

/** Calls, and returns the message of the exception. */
function refused(callable $call): string
{
    try {
        $call();
    } catch (Throwable $thrown) {
        return get_class($thrown) . ': ' . $thrown->getMessage() . (string) $thrown;
    }
    throw new LogicException('nothing was thrown');
}

$directory = sys_get_temp_dir() . '/stead-valgrind-' . bin2hex(random_bytes(8));
mkdir($directory);
$fleet = ['name' => 'members', 'replicas' => 2, 'node' => array_map(static fn (int $i): array => ['name' => "db$i", 'weight' => $i / 2,
    'labels' => ['zone' => "z$i"], 'attributes' => ['address' => "10.0.0.$i", '7' => 'seven']], range(1, 40))];
for ($round = 0, $rounds = isset($argv[1]) ? 1 : 3; $round < $rounds; $round++) {
    $path = "$directory/$round.map";
    $map = Map::build($fleet);
    $map->publish($path);
    $map = Map::open($path, $round === 1);
    $grown = Map::build(['replicas' => 36] + $fleet, $map, null, 'fleet.json');
    Map::buildFile((static function (string $file) use ($fleet): string {
        file_put_contents($file, json_encode($fleet));
        return $file;
    })("$directory/fleet.json"), $map, '5%');
    $map->save("$directory/copy.map");
    $said = [Map::openUncached($path)->same($map), Map::fromBytes($map->toBytes())->digest(), Map::peek($path)];
    $keys = array_map(static fn (int $i): ?string => $i % 100 === 0 ? null : "k$i", range(0, 10000));
    $said[] = [$map->locate('frank'), $grown->locateAll('frank'), $map->prefer('frank', 40), $map->locateMany($keys + ['x' => 'y']), $map->locateMany([])];
    $said[] = [$grown->locateAllMany(array_slice($keys, 0, 300)), $map->locateAllMany($keys + ['x' => 'y']), $map->locateAllMany([])];
    $said[] = [$map->point('frank'), $map->locatePoint(-1), $grown->locateAllPoint(5), $map->name(), $map->epoch(), $map->parent(), $map->replicas()];
    $said[] = [$map->hash(), $map->keyRule(), $map->spread(), $map->nodes(), $map->node('db1'), $map->node('none'), $map->attribute('db1', 'none')];
    $said[] = [$map->label('db1', 'zone'), $grown->policies(), $grown->slices(), $map->report(), json_encode([$map, $map->nodes()]), print_r($map->nodes(), true)];
    $said[] = array_map(static fn ($node): array => [$node->label('zone'), $node->labels(), $node->attribute('7'), $node->attributes(), $node->leaving()], $map->nodes());
    $applied = "$directory/applied-$round.map";
    Map::apply($fleet, $applied);
    $said[] = [Map::apply($map->fleet(), $applied), Map::applyFile("$directory/fleet.json", $applied, '5%'), Map::apply(['replicas' => 3] + $fleet, $applied, '50%', 'x')];
    $said[] = [Map::history($applied), Map::openEpoch($applied, 1), Map::rollback($applied, 1, 'exact', 'drop-copies')];
    $plan = Plan::between($map, $grown);
    foreach ($plan as $i => $move) {
        $said[] = [$i, $move];
    }
    foreach ($plan as $move) {
        break;
    }
    foreach ($plan->getIterator() as $i => $move) {
        $said[] = $move;
    }
    $said[] = [$plan->old(), $plan->new(), count($plan), $plan->moves(), $plan->affects('frank'), $plan->affectsPoint(7), $plan->affectsMany($keys)];
    $said[] = [$plan->fraction(), $plan->moved(), $plan->lowerBound(), $plan->byHand(), $plan->reordered(), $plan->report(true), json_encode($plan), print_r($plan, true)];
    $said[] = [Path::of('frank'), Path::of('FRANK', [16, 16], Fold::Ascii), Path::name(Path::of("a\0b")), Path::survey(['a', 'b'], 10, [16]), Point::hex(-1), Point::fromHex('00000000000000ff'), Point::compare(1, -1), Fold::None->of('A')];
    $said[] = [new Stead\Move(1, 2, 'a', null, 'pin'), new Stead\Slice(1, 2, ['a'], null), new Stead\Policy('a', 'b', '1', ['c']), new Stead\Affected('k', null, 'b')];
    $said[] = [new Stead\Exception\IoException('words', 9, 5, new Exception('before')), Stead\Exception::of(Stead\Status::Io, 'words'), Stead\Library::version()];
    $said[] = array_map(refused(...), [
        fn () => Map::open("$directory/none"), fn () => Map::open("a\0b"), fn () => Map::open($directory), fn () => Map::fromBytes('no map'),
        fn () => Map::build('fleet.toml'), fn () => Map::build(['name' => "\xff"]), fn () => Map::build(['name' => new stdClass()]), fn () => Map::build(['a' => NAN]),
        fn () => Map::build(['name' => 'm', 'node' => [['name' => 'a', 'wieght' => 1e-300]]]), fn () => Map::build($fleet, null, "5\0"), fn () => Map::build([], null, null, "\0"),
        fn () => Map::buildFile("$directory/none"), fn () => $map->locateMany(['a', 5]), fn () => $map->locateAllMany($keys + ['x' => 5]), fn () => $plan->affectsMany(['a', 'x' => 5]), fn () => $map->locate(null),
        fn () => $map->prefer('a', -1), fn () => $map->attribute('none', 'x'), fn () => $map->label('db1', "\0"), fn () => $map->publish("$directory/none/x"),
        fn () => clone $map, fn () => clone $plan, fn () => serialize($map), fn () => serialize([$plan]), fn () => unserialize('O:9:"Stead\Map":0:{}'),
        fn () => unserialize('a:2:{i:0;O:10:"Stead\Plan":0:{}i:1;O:9:"Stead\Map":0:{}}'), fn () => Path::of('a', [300]), fn () => Path::of('a', ['x']), fn () => Path::of('a', "\0"),
        fn () => Path::of(str_repeat("\xff", 90)), fn () => Point::fromHex('x'), fn () => new Map(), fn () => (new Stead\Move(1, 2, null, null, ''))->__construct(1, 2, null, null, ''),
        fn () => Path::name('none'), fn () => Path::name('none', ['x']), fn () => Path::survey(['a', 5]), fn () => Path::survey(['a'], -1), fn () => Path::survey(['a'], 1, [300]),
        fn () => Map::apply(['name' => 'm', 'node' => [['nam' => 1]]], $applied), fn () => Map::apply('fleet.toml', $applied), fn () => Map::applyFile('none', $applied),
        fn () => Map::history('none'), fn () => Map::openEpoch($applied, 99), fn () => Map::rollback($applied, 99), fn () => Map::apply($fleet, "\0"),
        fn () => Stead\Library::load('/other.so'), fn () => (new ReflectionClass(Map::class))->newInstanceWithoutConstructor(),
        function () use ($plan): void {
            foreach ($plan as $move) {
                throw new LogicException('in the middle');
            }
        },
    ]);
    $made = $plan->getIterator();
    unset($plan, $grown);
    $said[] = $made->current();
}
exec('rm -rf ' . escapeshellarg($directory));
if (isset($argv[1])) {
    // the control
    $c = FFI::cdef('void *malloc(size_t size);');
    for ($i = 0; $i < 100; $i++) {
        FFI::isNull($c->malloc(1000));
    }
}
echo count($said), " results\n";
