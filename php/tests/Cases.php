<?php

declare(strict_types=1);

namespace Stead\Tests;

use PHPUnit\Framework\TestCase;
use Stead\Library;
use Stead\Map;

/**
 * Helpers that the tests share: fleets, a scratch directory, the exception of a call, and the
 * memory of the process.
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

    /** Returns a path in a directory of this test, which is removed afterwards. */
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
     * Returns the exception that a call throws. Fails if the exception is of another class, or if
     * its message does not contain all these words.
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

    /**
     * Returns the PHP options that give a new process the extension, if this process has it.
     *
     * @return list<string>
     */
    protected static function extension(): array
    {
        return Library::backend() === 'extension' ? ['-d', 'extension=' . getenv('STEAD_EXTENSION')] : [];
    }

    /** Returns the number of bytes that this process has in memory. */
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
