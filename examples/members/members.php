<?php

declare(strict_types=1);

namespace Site;

// Finds a member's photo and rows. Create a Members object for each request: it costs a stat or
// two, and sees the newest maps.
//
//     php members.php DIRECTORY USER...      USER<TAB>photo<TAB>database

use Stead\Exception\NotFoundException;
use Stead\Map;
use Stead\Path;

// with composer: require 'vendor/autoload.php'
require_once __DIR__ . '/../../php/autoload.php';

/** The maps of a directory: photos.map, shards.map and, while files move, photos.map.before. */
final class Members
{
    private Map $now;
    private Map $before;

    public function __construct(private readonly string $directory)
    {
        $this->open();
    }

    /** The database that has the member's rows. */
    public function shard(string $user): string
    {
        $shards = Map::open("$this->directory/shards.map");
        return $shards->attribute($shards->locate($user), 'dsn');
    }

    /**
     * The file where the member's photo belongs. An upload is written under a temporary name, then
     * renamed to this one.
     */
    public function photo(string $user): string
    {
        return self::place($this->now, $user);
    }

    /**
     * The files in which to look for the photo, in this order; only one, unless the photo moves.
     *
     * @return list<string>
     */
    public function places(string $user): array
    {
        [$new, $old] = [self::place($this->now, $user), self::place($this->before, $user)];
        return $new === $old ? [$new] : [$new, $old, $new];
    }

    /** The member's photo; null if there is none. */
    public function look(string $user): ?string
    {
        do {
            foreach ($this->places($user) as $path) {
                $photo = self::read($path);
                if ($photo !== null) {
                    return $photo;
                }
            }
            // a request that began before the move looks only in the old place; a photo is missing
            // only if it is missing under the newest maps
            $digests = $this->now->digest() . $this->before->digest();
            $this->open();
        } while ($this->now->digest() . $this->before->digest() !== $digests);
        return null;
    }

    /** The bytes of a file; null if it does not exist. */
    public static function read(string $path): ?string
    {
        error_clear_last();
        $bytes = @file_get_contents($path);
        if ($bytes === false && !str_contains(error_get_last()['message'] ?? '', 'No such file')) {
            throw new \RuntimeException(error_get_last()['message'] ?? "$path cannot be read");
        }
        return $bytes === false ? null : $bytes;
    }

    private function open(): void
    {
        $this->now = Map::open("$this->directory/photos.map");
        try {
            $this->before = Map::open("$this->directory/photos.map.before");
        } catch (NotFoundException) {
            $this->before = $this->now;
        }
    }

    /** The file of a member's photo, under one map. */
    private static function place(Map $map, string $user): string
    {
        return $map->attribute($map->locate($user), 'mount') . '/' . Path::of($user);
    }
}

if (PHP_SAPI === 'cli' && realpath($argv[0]) === __FILE__) {
    $members = new Members($argv[1]);
    foreach (array_slice($argv, 2) as $user) {
        echo "$user\t{$members->photo($user)}\t{$members->shard($user)}\n";
    }
}
