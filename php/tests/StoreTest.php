<?php

declare(strict_types=1);

namespace Stead\Tests;

use Stead\Exception\FleetException;
use Stead\Exception\GuardedException;
use Stead\Exception\InvalidException;
use Stead\Exception\NotFoundException;
use Stead\Exception\PathNameException;
use Stead\Fold;
use Stead\Map;
use Stead\Path;

/** Maps at a path: applied, listed, rolled back; and the fleet of a map, and the name of a path. */
final class StoreTest extends Cases
{
    public function testAFleetIsAppliedAndTakenBack(): void
    {
        $path = $this->path('members.map');
        $first = Map::apply(self::fleet('db1'), $path);
        self::assertSame([1, self::map('db1')->digest()], [$first->epoch(), Map::open($path)->digest()]);
        // the same fleet changes nothing
        self::assertSame([1, [1]], [Map::apply(self::fleet('db1'), $path)->epoch(), Map::history($path)]);
        $second = Map::apply(self::fleet('db1', 'db2'), $path);
        self::assertSame(Map::build(self::fleet('db1', 'db2'), $first)->digest(), $second->digest());
        $step = Map::apply(self::fleet('db1', 'db2', 'db3'), $path, '5%');
        self::assertLessThan(0.0501, \Stead\Plan::between($second, $step)->fraction());
        self::assertSame([1, 2, 3], Map::history($path));
        self::assertSame([$first->digest(), $step->digest()], [Map::openEpoch($path, 1)->digest(), Map::openEpoch($path, 3)->digest()]);
        $back = Map::rollback($path, 2);
        self::assertSame([4, true, [1, 2, 3, 4]], [$back->epoch(), $back->same($second), Map::history($path)]);
        self::assertSame($back->digest(), Map::open($path)->digest());
        self::assertSame(4, Map::rollback($path, 4)->epoch());
        // further back it must be said how
        $this->thrown(fn () => Map::rollback($path, 1), InvalidException::class, 'say how to go back: exact');
        $this->thrown(fn () => Map::rollback($path, 1, 'most'), InvalidException::class, '"most" is no way to go back');
        self::assertSame([5, $first->fleet()], [Map::rollback($path, 1, 'least')->epoch(), Map::open($path)->fleet()]);
        self::assertTrue(Map::rollback($path, 1, 'exact')->same($first));
    }

    public function testAFleetFileIsApplied(): void
    {
        [$path, $fleet] = [$this->path('members.map'), $this->path('fleet.toml')];
        file_put_contents($fleet, "name = 'members'\n[[node]]\nname = 'db1'\n");
        self::assertSame(self::map('db1')->digest(), Map::applyFile($fleet, $path)->digest());
        file_put_contents($fleet, "[[node]]\nname = 'db2'\n", FILE_APPEND);
        self::assertSame(2, Map::applyFile($fleet, $path, '100%')->epoch());
        file_put_contents($fleet, 'nonsense');
        $this->thrown(fn () => Map::applyFile($fleet, $path), FleetException::class, "$fleet:1");
        $this->thrown(fn () => Map::applyFile($this->path('none'), $path), NotFoundException::class, 'none');
        self::assertSame([1, 2], Map::history($path));
    }

    public function testWhatCannotBeApplied(): void
    {
        $path = $this->path('members.map');
        $this->thrown(fn () => Map::history($path), NotFoundException::class, $path);
        $this->thrown(fn () => Map::openEpoch($path, 1), NotFoundException::class, $path);
        $this->thrown(fn () => Map::rollback($path, 1), NotFoundException::class, $path);
        $this->thrown(fn () => Map::apply(['name' => 'm', 'node' => [['name' => 'a', 'wieght' => 2]]], $path), FleetException::class, "fleet['node'][0]['wieght']: unknown key");
        $this->thrown(fn () => Map::apply('fleet.toml', $path), FleetException::class, 'Map::applyFile reads a file');
        $this->thrown(fn () => Map::apply("name = 'm'\n[[node]]\nname = 3", $path, name: 'x.toml'), FleetException::class, 'x.toml:3: ');
        $this->thrown(fn () => Map::apply(self::fleet('a'), "$path\0"), InvalidException::class, 'the path has a NUL byte');
        $this->thrown(fn () => Map::apply(self::fleet('a'), $path, '5 percent'), InvalidException::class, '5 percent');
        $this->thrown(fn () => Map::apply(self::fleet('a'), ''), InvalidException::class, 'path');
        self::assertFileDoesNotExist($path);
        Map::apply(self::fleet('a'), $path);
        foreach ([0, 2, -1] as $epoch) {
            $this->thrown(fn () => Map::openEpoch($path, $epoch), InvalidException::class);
            $this->thrown(fn () => Map::rollback($path, $epoch), InvalidException::class);
        }
    }

    public function testHarmIsRefusedUnlessItIsAllowed(): void
    {
        [$path, $file] = [$this->path('members.map'), $this->path('fleet.toml')];
        $single = self::fleet('db1', 'db2');
        $pair = $single + ['replicas' => 2];
        file_put_contents($file, "name = 'members'\nnode = [{ name = 'db1' }, { name = 'db2' }]\n");
        $first = Map::apply($pair, $path);
        $second = Map::build($single, $first);
        $says = ['drops copies of 100.00 % of the points', 'allow drop-copies'];
        $this->thrown(fn () => Map::apply($single, $path), GuardedException::class, ...$says);
        $this->thrown(fn () => Map::applyFile($file, $path), GuardedException::class, ...$says);
        $this->thrown(fn () => $second->publish($path, $first), GuardedException::class, ...$says);
        $this->thrown(fn () => Map::apply($single, $path, allow: 'move,take-back'), GuardedException::class);
        $this->thrown(fn () => Map::apply($single, $path, allow: 'drop'), InvalidException::class, '`drop` is not the word of a guard');
        foreach ([fn () => Map::apply($single, $path, allow: "move\0"), fn () => Map::applyFile($file, $path, allow: "move\0"), fn () => Map::rollback($path, 1, allow: "move\0"), fn () => $second->publish($path, $first, "move\0")] as $call) {
            $this->thrown($call, InvalidException::class, 'allow has a NUL byte');
        }
        self::assertSame([1], Map::history($path));
        $second->publish($path, $first, 'drop-copies');
        self::assertSame(3, Map::apply($pair, $path, allow: 'take-back')->epoch());
        $this->thrown(fn () => Map::rollback($path, 2), GuardedException::class, ...$says);
        self::assertSame(4, Map::rollback($path, 2, allow: 'drop-copies')->epoch());
        self::assertSame(5, Map::apply($pair, $path, allow: 'take-back')->epoch());
        self::assertSame(6, Map::applyFile($file, $path, allow: 'drop-copies,take-back')->epoch());
    }

    public function testAPublishWithoutItsPreviousMapSaysWhatToGive(): void
    {
        $path = $this->path('members.map');
        $first = Map::apply(self::fleet('db1'), $path);
        $second = Map::build(self::fleet('db1', 'db2'), $first);
        $this->thrown(fn () => $second->publish($path), InvalidException::class, 'built on');
        $second->publish($path, $first);
        self::assertSame(2, Map::open($path)->epoch());
    }

    public function testAHistoryIsLongerThanTheFirstBuffer(): void
    {
        $path = $this->path('members.map');
        for ($epoch = 1; $epoch <= 70; $epoch++) {
            Map::apply(self::fleet('db1', "other$epoch"), $path);
        }
        $history = Map::history($path);
        self::assertSame(70, end($history));
        self::assertSame(range(71 - count($history), 70), $history);
    }

    public function testAMapKnowsItsFleet(): void
    {
        $map = Map::build(self::fleet('db1', 'db2') + ['pin' => [['key' => 'frank', 'nodes' => ['db1']]], 'policy' => [['name' => 'pair', 'nodes' => ['db2', 'db1']]]]);
        $text = $map->fleet();
        self::assertStringContainsString('name = "members"', $text);
        self::assertTrue(Map::build($text, $map)->same($map));
        self::assertFalse(Map::build(str_replace('"db2"', '"db3"', $text), $map)->same($map));
    }

    public function testThePathOfANameLeadsBack(): void
    {
        foreach (['frank', '', "\0", "a\0b", "Sp\xc3\xa4ti", "\xff", 'a/b', '..', '.', str_repeat('x', 255), str_repeat("\xff", 85)] as $name) {
            self::assertSame($name, Path::name(Path::of($name)));
            self::assertSame($name, Path::name('/srv/photos/' . Path::of($name, [16, 16]), '16,16'));
        }
        self::assertSame('frank', Path::name(Path::of('FRANK', fold: Fold::Ascii)));
        foreach (['', 'frank', '38/37/61/frank', '38/37/60/Frank', "38/37/60/frank\n", '38/37/60/frank/', '38/37/60/=6'] as $path) {
            $this->thrown(fn () => Path::name($path), PathNameException::class);
        }
        $this->thrown(fn () => Path::name('38/37/60/frank', [300]), InvalidException::class, 'levels');
        $this->thrown(fn () => Path::name('38/37/60/frank', "64\0"), InvalidException::class, 'NUL');
        $this->thrown(fn () => Path::name('38/37/60/frank', ['x']), \TypeError::class, 'a level is an int');
    }

    public function testASurveyIsThatOfTheProgram(): void
    {
        $names = array_map(static fn (int $i): string => "member$i", range(1, 20000));
        $survey = Path::survey($names, 1000000, [16, 16]);
        self::assertSame($survey, Path::survey(array_flip(array_flip($names)), 1000000, '16,16'));
        self::assertNotSame($survey, Path::survey($names));
        self::assertNotSame($survey, Path::survey(array_slice($names, 1), 1000000, [16, 16]));
        file_put_contents($this->path('names'), implode("\n", $names) . "\n");
        $program = dirname((string) getenv('STEAD_LIBRARY')) . '/stead';
        $said = shell_exec(escapeshellarg($program) . ' survey --json --members 1000000 --levels 16,16 ' . escapeshellarg($this->path('names')));
        self::assertSame(json_decode((string) $said, true, 512, JSON_THROW_ON_ERROR), $survey);
        $this->thrown(fn () => Path::survey(['a', 'x' => 5]), \TypeError::class, 'a name is a string, not $names[x], which is int');
        $this->thrown(fn () => Path::survey(['a', null]), \TypeError::class, '$names[1], which is null');
        $this->thrown(fn () => Path::survey(['a'], -1), InvalidException::class, 'members is -1');
        $this->thrown(fn () => Path::survey(['a'], null, [300]), InvalidException::class, 'levels');
    }
}
