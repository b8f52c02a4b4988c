<?php

declare(strict_types=1);

namespace Stead;

/**
 * The relative path of a key, directories and a file name: `Path::of('frank')` is "38/37/60/frank"
 * (docs/paths.md).
 */
final class Path
{
    private static ?object $room = null;

    /**
     * @param string|list<int>|null $levels the number of directories on each level; the default is
     *     "64,64,128"
     * @throws Exception\PathNameException if the file name would be longer than 255 bytes
     * @throws Exception\InvalidException if the levels are wrong
     */
    public static function of(string $key, string|array|null $levels = null, Fold $fold = Fold::None): string
    {
        $ffi = Ffi::load();
        // STEAD_PATH_ROOM
        self::$room ??= $ffi->room('char[320]');
        if (\is_array($levels)) {
            $levels = self::written($levels);
        }
        $folding = $fold === Fold::Ascii ? 1 : 0;
        $levels = $levels === null ? null : Text::ended($levels, 'the levels');
        if ($ffi->c->stead_path($key, \strlen($key), $levels, $folding, self::$room, 320, $ffi->count, $ffi->error) !== 0) {
            $ffi->fail();
        }
        return $ffi->bytes(self::$room, $ffi->count[0]);
    }

    /** @param array<mixed> $levels */
    private static function written(array $levels): string
    {
        foreach ($levels as $level) {
            if (!\is_int($level)) {
                throw Exception::type('a level is an int, not ' . \get_debug_type($level));
            }
        }
        return \implode(',', $levels);
    }
}
