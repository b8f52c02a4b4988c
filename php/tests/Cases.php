<?php

declare(strict_types=1);

namespace Stead\Tests;

use PHPUnit\Framework\TestCase;
use Stead\Map;

/**
 * What the tests share: fleets, a scratch directory, what a call throws, and how much memory there
 * is.
 */
abstract class Cases extends TestCase
{
    private ?string $scratch = null;

    /**
     * A fleet of these nodes.
     *
     * @return array<string, mixed>
     */
    protected static function fleet(string ...$names): array
    {
        return ['name' => 'members', 'node' => array_map(static fn (string $name): array => ['name' => $name], $names)];
    }

    protected static function map(string ...$names): Map
    {
        return Map::build(self::fleet(...$names));
    }

    /** A path in a directory of this test, which is gone afterwards. */
    protected function path(string $name = ''): string
    {
        if ($this->scratch === null) {
            $this->scratch = sys_get_temp_dir() . '/stead-php-' . bin2hex(random_bytes(8));
            mkdir($this->scratch);
        }
        return "$this->scratch/$name";
    }

    protected function tearDown(): void
    {
        if ($this->scratch !== null) {
            self::remove($this->scratch);
            $this->scratch = null;
        }
    }

    /**
     * What a call throws; it fails when that is of another class, or its message has not all these
     * words.
     */
    protected function thrown(callable $call, string $class, string ...$words): \Throwable
    {
        try {
            $call();
        } catch (\Throwable $thrown) {
            self::assertSame($class, get_class($thrown), $thrown->getMessage());
            self::assertStringNotContainsString("\n", $thrown->getMessage());
            foreach ($words as $word) {
                self::assertStringContainsString($word, $thrown->getMessage());
            }
            return $thrown;
        }
        self::fail("no $class");
    }

    /** The bytes that this process has in memory. */
    protected static function memory(): int
    {
        return 4096 * (int) explode(' ', (string) file_get_contents('/proc/self/statm'))[1];
    }

    private static function remove(string $path): void
    {
        if (is_dir($path) && !is_link($path)) {
            foreach (array_diff((array) scandir($path), ['.', '..']) as $name) {
                self::remove("$path/$name");
            }
            rmdir($path);
        } else {
            unlink($path);
        }
    }
}
