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
        $folding = $fold === Fold::Ascii ? 1 : 0;
        $levels = self::written($levels);
        if ($ffi->c->stead_path($key, \strlen($key), $levels, $folding, self::$room, 320, $ffi->count, $ffi->error) !== 0) {
            $ffi->fail();
        }
        return $ffi->bytes(self::$room, $ffi->count[0]);
    }

    /**
     * Returns the name that has a path: the inverse of `of` without folding. The last parts of the path
     * must be the directories of the name and its file name; what comes before them is ignored, so an
     * absolute path is fine.
     *
     * @param string|list<int>|null $levels as in `of`
     * @throws Exception\PathNameException if no name has this path
     */
    public static function name(string $path, string|array|null $levels = null): string
    {
        $ffi = Ffi::load();
        // STEAD_NAME_ROOM
        $name = $ffi->room('char[255]');
        if ($ffi->c->stead_path_name($path, \strlen($path), self::written($levels), $name, 255, $ffi->count, $ffi->error) !== 0) {
            $ffi->fail();
        }
        return $ffi->bytes($name, $ffi->count[0]);
    }

    /**
     * Measures how evenly eight schemes, MD5 among them, spread a list of names over directories.
     * Returns the shape of `stead survey --json` (docs/cli.md).
     *
     * @param array<string> $names
     * @param ?int $members for how many members the directories of `levels` are also projected
     * @param string|list<int>|null $levels as in `of`
     * @return array<string, mixed>
     */
    public static function survey(array $names, ?int $members = null, string|array|null $levels = null): array
    {
        $ffi = Ffi::load();
        if ($members !== null && $members < 0) {
            throw Exception::of(Status::Invalid, "members is $members, and a number of members is at least 0");
        }
        $levels = self::written($levels);
        foreach ($names as $place => $name) {
            if (!\is_string($name)) {
                throw Exception::type("a name is a string, not \$names[$place], which is " . \get_debug_type($name));
            }
        }
        $offsets = Ffi::offsets($names);
        $ends = $ffi->room('uint64_t[' . \count($offsets) . ']');
        foreach ($offsets as $i => $offset) {
            $ends[$i] = $offset;
        }
        $text = \implode('', $names);
        if ($ffi->c->stead_survey($text, \strlen($text), $ends, \count($names), $members ?? 0, $levels, $ffi->text, $ffi->error) !== 0) {
            $ffi->fail();
        }
        return \json_decode($ffi->takeText(), true, 512, \JSON_THROW_ON_ERROR);
    }

    /**
     * Returns levels as text, for calls.
     *
     * @param string|array<mixed>|null $levels
     */
    private static function written(string|array|null $levels): ?string
    {
        foreach (\is_array($levels) ? $levels : [] as $level) {
            if (!\is_int($level)) {
                throw Exception::type('a level is an int, not ' . \get_debug_type($level));
            }
        }
        if ($levels === null) {
            return null;
        }
        return Text::ended(\is_array($levels) ? \implode(',', $levels) : $levels, 'the levels');
    }
}
