<?php

declare(strict_types=1);

namespace Site;

// Finds, writes and removes a member's photo, and says where her rows are. Create a Members object
// for each request: it sees the newest maps, and the state of a carry.
//
//     php members.php DIRECTORY USER...      USER<TAB>photo<TAB>database

use RuntimeException;
use Stead\Pair;
use Stead\Path;

// with composer: require 'vendor/autoload.php'
require_once __DIR__ . '/../../php/autoload.php';

/** The maps of a directory: photos.map and shards.map. */
final class Members
{
    private Pair $photos;
    private Pair $shards;

    public function __construct(string $directory)
    {
        $this->photos = Pair::open("$directory/photos.map");
        $this->shards = Pair::open("$directory/shards.map");
    }

    /** The database in which to read the member's rows. */
    public function shard(string $user): string
    {
        return $this->shards->attribute($this->shards->reads($user)[0], 'dsn');
    }

    /** The file in which to read the member's photo. */
    public function photo(string $user): string
    {
        return $this->file($this->photos->reads($user)[0], $user);
    }

    /** The member's photo; null if there is none. */
    public function look(string $user): ?string
    {
        $path = $this->photo($user);
        error_clear_last();
        $photo = @file_get_contents($path);
        if ($photo === false && !str_contains(error_get_last()['message'] ?? '', 'No such file')) {
            throw new RuntimeException("$path cannot be read");
        }
        return $photo === false ? null : $photo;
    }

    /**
     * Writes the photo to every place, in this order. Each is written under another name and renamed,
     * so that nobody sees half of it. Whoever gets an error repeats the upload.
     */
    public function upload(string $user, string $photo): void
    {
        foreach ($this->photos->writes($user) as $node) {
            $path = $this->file($node, $user);
            $fresh = $this->photos->attribute($node, 'mount') . '/.upload-' . php_uname('n') . '-' . getmypid();
            is_dir(dirname($path)) || @mkdir(dirname($path), recursive: true);
            if (@file_put_contents($fresh, $photo) !== strlen($photo) || !rename($fresh, $path)) {
                throw new RuntimeException("$path cannot be written");
            }
        }
    }

    /** Removes the photo from every place, in this order. */
    public function remove(string $user): void
    {
        foreach ($this->photos->writes($user) as $node) {
            $path = $this->file($node, $user);
            if (!@unlink($path) && file_exists($path)) {
                throw new RuntimeException("$path cannot be removed");
            }
        }
    }

    /**
     * The file of the photo at a NAS. One that is not mounted looks like one without photos, so a file
     * in it says whose it is.
     */
    private function file(string $node, string $user): string
    {
        $mount = $this->photos->attribute($node, 'mount');
        if (!file_exists("$mount/.node")) {
            throw new RuntimeException("$mount is not mounted");
        }
        return "$mount/" . Path::of($user);
    }
}

if (PHP_SAPI === 'cli' && realpath($argv[0]) === __FILE__) {
    $members = new Members($argv[1]);
    foreach (array_slice($argv, 2) as $user) {
        echo "$user\t{$members->photo($user)}\t{$members->shard($user)}\n";
    }
}
