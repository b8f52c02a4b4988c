<?php

declare(strict_types=1);

namespace Stead\Tests;

use Stead\Exception as Failure;
use Stead\Exception\ChangedException;
use Stead\Exception\ConflictException;
use Stead\Exception\DigestException;
use Stead\Exception\FleetException;
use Stead\Exception\FormatException;
use Stead\Exception\ImpossibleException;
use Stead\Exception\InvalidException;
use Stead\Exception\IoException;
use Stead\Exception\NotFoundException;
use Stead\Exception\PathNameException;
use Stead\Exception\PermissionDeniedException;
use Stead\Map;
use Stead\Path;
use Stead\Plan;
use Stead\Point;
use Stead\Status;

final class ErrorsTest extends Cases
{
    public function testEveryStatusOfTheLibraryHasItsException(): void
    {
        // FFI of its own, so that this also holds for the extension
        $c = \FFI::cdef('const char *stead_status_name(int32_t status);', (string) getenv('STEAD_LIBRARY'));
        $classes = [];
        foreach (Status::cases() as $status) {
            $name = 'STEAD_' . strtoupper((string) preg_replace('/(?<!^)[A-Z]/', '_$0', $status->name));
            self::assertSame($name, $c->stead_status_name($status->value));
            $exception = Failure::of($status, 'words', 5);
            self::assertInstanceOf(\RuntimeException::class, $exception);
            self::assertSame([$status, $status->value, 5, 'words'], [$exception->status, $exception->getCode(), $exception->errno, $exception->getMessage()]);
            $classes[] = get_class($exception);
        }
        self::assertCount(17, array_unique($classes));
        self::assertNotContains(Failure::class, $classes);
        // the library has no other status; 14 was removed and is not reused
        $last = max(array_map(static fn (Status $status): int => $status->value, Status::cases()));
        self::assertNull($c->stead_status_name(14));
        self::assertNull($c->stead_status_name($last + 1));
        $later = Failure::of(99, 'words');
        self::assertSame([Failure::class, null, 99], [get_class($later), $later->status, $later->getCode()]);
        self::assertInstanceOf(FormatException::class, Failure::of(Status::Digest, ''));
        foreach ([Failure::of(Status::NotFound, ''), Failure::of(Status::Uncertain, ''), Failure::of(Status::Permission, '', 13)] as $exception) {
            self::assertInstanceOf(IoException::class, $exception);
        }
        self::assertSame(PermissionDeniedException::class, get_class(Failure::of(Status::Permission, '', 13)));
    }

    public function testFiles(): void
    {
        $path = $this->path('members.map');
        $missing = $this->thrown(fn () => Map::open($path), NotFoundException::class, $path);
        self::assertSame([8, 2], [$missing->getCode(), $missing->errno]);
        $this->thrown(fn () => Map::buildFile($path), NotFoundException::class, $path);
        $this->thrown(fn () => self::map('db1')->save($this->path('none/members.map')), NotFoundException::class, 'none');
        $this->thrown(fn () => Map::open(dirname($path)), FormatException::class, dirname($path), 'directory');
        file_put_contents($path, 'not a map');
        // a file is not a directory, not even for root
        $refused = $this->thrown(fn () => Map::open("$path/members.map"), IoException::class, $path);
        self::assertSame([Status::Io, 20], [$refused->status, $refused->errno]);
        $this->thrown(fn () => Map::open($path), FormatException::class, $path);
        $bytes = self::map('db1')->toBytes();
        $bytes[200] = chr(ord($bytes[200]) ^ 1);
        $this->thrown(fn () => Map::fromBytes($bytes), DigestException::class, 'digest');
        $this->thrown(fn () => Map::fromBytes(''), FormatException::class);
        foreach ([fn () => Map::open("$path\0"), fn () => Map::buildFile("\0"), fn () => self::map('a')->publish("a\0b"), fn () => self::map('a')->save("a\0b")] as $call) {
            $this->thrown($call, InvalidException::class, 'the path has a NUL byte');
        }
    }

    public function testWhoIsSlowerIsToldAndWhoWritesInPlace(): void
    {
        $path = $this->path('members.map');
        $first = self::map('db1');
        $first->publish($path);
        Map::build(self::fleet('db1', 'db2'), $first)->publish($path, $first);
        $late = Map::build(self::fleet('db1', 'db3'), $first);
        $this->thrown(fn () => $late->publish($path, $first), ConflictException::class, 'epoch');
        $second = Map::open($path);
        $this->thrown(fn () => $late->publish($path, $second), InvalidException::class, 'epoch');
        $open = Map::open($path);
        self::assertSame(2, $open->epoch());
        // the same file with other bytes
        $file = fopen($path, 'r+');
        ftruncate($file, 0);
        fwrite($file, self::map('db1', 'db2', 'db3', 'db4')->toBytes());
        fclose($file);
        $this->thrown(fn () => Map::open($path), ChangedException::class, $path);
        self::assertSame(2, $open->epoch());
    }

    public function testAnArrayIsToldWhereItIsWrong(): void
    {
        $node = static fn (array $node): array => ['name' => 'members', 'node' => [['name' => 'db1'], $node]];
        $wrong = [
            [$node(['name' => 'db2', 'wieght' => 2]), "fleet['node'][1]['wieght']: unknown key `wieght`", 'known keys'],
            [$node(['name' => 'db2', 'weight' => 0.1 + 0.2]), "fleet['node'][1]['weight']: ", '17 places'],
            [$node(['name' => 'db2', 'weight' => -1]), "fleet['node'][1]['weight']: weight -1"],
            [$node(['name' => 'db2', 'weight' => NAN]), "fleet['node'][1]['weight']: ", 'NAN'],
            [$node(['name' => 'db2', 'weight' => INF]), "fleet['node'][1]['weight']: ", 'INF'],
            [$node(['name' => 'db2', 'weight' => 1e-300]), "fleet['node'][1]['weight']: ", '1.0e-300'],
            [$node(['name' => "db\xff"]), "fleet['node'][1]['name']: ", 'UTF-8'],
            [$node(["na\xffme" => 'x']), "fleet['node'][1]: ", 'UTF-8'],
            [$node(['name' => 'db1']), "fleet['node'][1]", "in fleet['node'][0]"],
            [['node' => []], 'fleet: ', 'name'],
            [[], 'fleet: ', 'name'],
            [['name' => 'm', 'node' => 'db1'], "fleet['node']: "],
        ];
        foreach ($wrong as $case) {
            $thrown = $this->thrown(fn () => Map::build($case[0]), FleetException::class, ...array_slice($case, 2));
            self::assertStringStartsWith($case[1], $thrown->getMessage());
        }
        $deep = ['name' => 'm'];
        for ($i = 0; $i < 40; $i++) {
            $deep = ['name' => $deep];
        }
        $this->thrown(fn () => Map::build($deep), FleetException::class, 'too deep');
        $this->thrown(fn () => Map::build(['name' => null]), \TypeError::class, "fleet['name']: ", 'not null');
        $this->thrown(fn () => Map::build(['name' => new \stdClass()]), \TypeError::class, 'not stdClass');
    }

    public function testATextIsToldWhereItIsWrong(): void
    {
        $this->thrown(fn () => Map::build("name = 'm'\n[[node]]\nname = 'a'\nweight = -1"), FleetException::class, 'fleet:4: weight -1');
        $this->thrown(fn () => Map::build("name = 'm'\n[[node]]\nname = 3", name: 'x.toml'), FleetException::class, 'x.toml:3: ');
        $this->thrown(fn () => Map::build('fleet.toml'), FleetException::class, 'Map::buildFile reads a file');
        $this->thrown(fn () => Map::build(self::fleet('db1', 'db2', 'db3') + ['max_slices' => 1]), ImpossibleException::class, 'max_slices', '3');
        $this->thrown(fn () => Map::build(self::fleet('a'), null, '5 percent'), InvalidException::class, '5 percent');
        $this->thrown(fn () => Map::build(self::fleet('a'), null, "5%\0"), InvalidException::class, 'NUL');
        $this->thrown(fn () => Map::build(self::fleet('a'), name: "a\0"), InvalidException::class, 'NUL');
    }

    public function testArguments(): void
    {
        $map = self::map('db1');
        foreach ([42, 1.5, null, true, ['a'], new \stdClass()] as $wrong) {
            foreach (['locate', 'locateAll', 'point', 'node'] as $method) {
                $this->thrown(fn () => $map->$method($wrong), \TypeError::class, 'must be of type string');
            }
            $this->thrown(fn () => $map->prefer($wrong, 1), \TypeError::class, 'must be of type string');
            $this->thrown(fn () => Plan::between($map, $map)->affects($wrong), \TypeError::class, 'must be of type string');
            $this->thrown(fn () => Path::of($wrong), \TypeError::class, 'must be of type string');
            if ($wrong !== null) {
                $this->thrown(fn () => $map->locateMany(['a', 'x' => $wrong]), \TypeError::class, '$keys[x]', get_debug_type($wrong));
                $this->thrown(fn () => $map->locateAllMany(['a', 'x' => &$wrong]), \TypeError::class, '$keys[x]', get_debug_type($wrong));
                $this->thrown(fn () => Plan::between($map, $map)->affectsMany(['a', 7 => $wrong]), \TypeError::class, '$keys[7]', get_debug_type($wrong));
            }
        }
        foreach (['1', 1.5, null] as $wrong) {
            $this->thrown(fn () => $map->prefer('a', $wrong), \TypeError::class, 'must be of type int');
            foreach (['locatePoint', 'locateAllPoint'] as $method) {
                $this->thrown(fn () => $map->$method($wrong), \TypeError::class, 'must be of type int');
            }
            $this->thrown(fn () => Plan::between($map, $map)->affectsPoint($wrong), \TypeError::class, 'must be of type int');
        }
        $this->thrown(fn () => $map->locateMany('frank'), \TypeError::class, 'must be of type array');
        $this->thrown(fn () => $map->prefer('a', -1), InvalidException::class, 'n is -1');
        $this->thrown(fn () => Path::of('a', [64, '64']), \TypeError::class, 'a level is an int, not string');
        foreach ([[300], [], '0', '64,', "64\0"] as $levels) {
            $this->thrown(fn () => Path::of('a', $levels), InvalidException::class, 'levels');
        }
        $this->thrown(fn () => Path::of(str_repeat("\xff", 90)), PathNameException::class, '270 bytes', '255');
        self::assertSame('db1', $map->locate('still there'));
    }

    public function testAnExceptionHasTheFileAndTheLineOfTheCaller(): void
    {
        $map = self::map('db1');
        $plan = Plan::between($map, $map);
        $calls = [
            [__LINE__, fn () => Map::open('/none')],
            [__LINE__, fn () => Map::open("a\0")],
            [__LINE__, fn () => Map::fromBytes('')],
            [__LINE__, fn () => Map::build('fleet.toml')],
            [__LINE__, fn () => Map::build(['name' => NAN])],
            [__LINE__, fn () => Map::build(['name' => null])],
            [__LINE__, fn () => $map->prefer('a', -1)],
            [__LINE__, fn () => $map->locateMany([1])],
            [__LINE__, fn () => $map->locateAllMany([1])],
            [__LINE__, fn () => $plan->affectsMany([1])],
            [__LINE__, fn () => $map->nodes()[0]->attribute("\0")],
            [__LINE__, fn () => clone $map],
            [__LINE__, fn () => Path::of('a', [300])],
            [__LINE__, fn () => Path::of('a', ['x'])],
            [__LINE__, fn () => Point::fromHex('x')],
            [__LINE__, fn () => throw new InvalidException('mine')],
        ];
        foreach ($calls as [$line, $call]) {
            try {
                $call();
                self::fail("line $line throws nothing");
            } catch (Failure | \TypeError $thrown) {
                self::assertSame([__FILE__, $line], [$thrown->getFile(), $thrown->getLine()], $thrown->getMessage());
            }
        }
    }

    public function testAMessageNamesNoFunctionOfC(): void
    {
        $map = self::map('db1');
        foreach ([fn () => Map::open(''), fn () => Map::openUncached(''), fn () => Map::peek(''), fn () => Map::buildFile(''), fn () => Map::history(''), fn () => Map::rollback('', 1), fn () => Map::openEpoch('', 1), fn () => Map::apply(self::fleet('a'), ''), fn () => $map->publish(''), fn () => $map->save(''), fn () => Path::of('a', '')] as $call) {
            $thrown = $this->thrown($call, InvalidException::class);
            self::assertStringNotContainsString('stead_', $thrown->getMessage());
        }
        $this->thrown(fn () => Map::open(''), InvalidException::class, 'path is empty');
    }

    /** Files without strict_types: PHP converts numbers, but null is no key in any of them. */
    public function testNullIsNoKeyInFilesThatAreNotStrict(): void
    {
        file_put_contents($this->path('loose.php'), '<?php return [fn ($map, $key) => $map->locate($key), fn ($map, $n) => $map->prefer("a", $n), fn ($map, $point) => $map->locatePoint($point)];');
        [$locate, $prefer, $point] = require $this->path('loose.php');
        $map = self::map('db1', 'db2');
        self::assertSame([$map->locate('42'), $map->prefer('a', 1)], [$locate($map, 42), $prefer($map, '1')]);
        $this->thrown(fn () => $locate($map, null), \TypeError::class, 'must be of type string, null given');
        $this->thrown(fn () => $prefer($map, null), \TypeError::class, 'must be of type int, null given');
        $this->thrown(fn () => $point($map, null), \TypeError::class, 'must be of type int, null given');
    }
}
