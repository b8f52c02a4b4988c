<?php

declare(strict_types=1);

namespace Stead;

use Stead\Exception\LibraryException;

/**
 * libstead through FFI. This is the only file that uses FFI: it finds the library, declares its
 * functions, and creates and reads C data. The functions of docs/c-api.md are methods of `$c`. Their
 * results are written into the buffers below, which are reused for each call.
 *
 * @internal programs use Library
 */
final class Ffi
{
    /** The binary interface that src/stead.cdef.h was written for. */
    private const ABI = 1;

    private const SONAME = 'libstead.so.1';

    /**
     * The number of keys in one call of stead_map_locate_many. Their 64 KiB of offsets stay in the
     * processor's cache.
     */
    public const BATCH = 8192;

    private static ?self $loaded = null;

    /** The functions of libstead. */
    public readonly object $c;

    /** The results of a call: a map, a plan, a pair, a point, a count, a text. */
    public readonly object $map;
    public readonly object $plan;
    public readonly object $pair;
    public readonly object $point;
    public readonly object $count;
    public readonly object $text;

    /** The error record, which is passed to calls. */
    public readonly object $error;

    /** Numbers of nodes, and the capacity of that buffer. */
    public object $nodes;
    public int $capacity = 16;

    /**
     * The struct that `error` points to, stored here because a C pointer does not keep it alive.
     */
    private object $record;

    /** Buffers of calls for many keys: the offsets of the keys, their nodes, and where each begins. */
    private ?object $offsets = null;
    private ?object $many = null;
    private ?object $starts = null;

    /** The file that was loaded; '' if php.ini loaded it (ffi.preload). */
    public readonly string $file;

    private function __construct(?string $file)
    {
        [$c, $this->file] = self::find($file);
        $this->c = $c;
        $this->map = $c->new('stead_map *[1]');
        $this->plan = $c->new('stead_plan *[1]');
        $this->pair = $c->new('stead_pair *[1]');
        $this->point = $c->new('uint64_t[1]');
        $this->count = $c->new('size_t[1]');
        $this->text = $c->new('char *[1]');
        $this->record = $c->new('stead_error');
        $this->error = \FFI::addr($this->record);
        $this->nodes = $c->new("int32_t[$this->capacity]");
    }

    /** Does what Library::load says, and returns the functions. */
    public static function load(?string $file = null): self
    {
        if (self::$loaded !== null && $file !== null && $file !== self::$loaded->file) {
            $loaded = self::$loaded->file === '' ? 'the one of ffi.preload' : self::$loaded->file;
            throw new LibraryException("libstead is loaded already, $loaded: call Library::load('$file') before anything else of stead");
        }
        return self::$loaded ??= new self($file);
    }

    /** Throws the exception for the error record. */
    public function fail(): never
    {
        throw Exception::of($this->record->status, \FFI::string($this->record->message), $this->record->os_errno);
    }

    /**
     * Makes room for this many numbers of nodes. Always returns true, so that the condition of a
     * loop can end with it.
     */
    public function grow(int $capacity): bool
    {
        if ($capacity > $this->capacity) {
            $this->nodes = $this->c->new("int32_t[$capacity]");
            $this->capacity = $capacity;
        }
        return true;
    }

    /** Returns a new buffer of a C type. */
    public function room(string $type): object
    {
        return $this->c->new($type);
    }

    /**
     * Returns the first bytes of an array or of the memory that a pointer points to; without a
     * length, up to the first NUL.
     */
    public function bytes(object $place, ?int $length = null): string
    {
        return $length === null ? \FFI::string($place) : \FFI::string($place, $length);
    }

    /** Returns a pointer to a struct, for calls. */
    public function pointer(object $structure): object
    {
        return \FFI::addr($structure);
    }

    /** Returns the text that a call put into `text`, and frees it. */
    public function takeText(): string
    {
        try {
            return \FFI::string($this->text[0]);
        } finally {
            $this->c->stead_text_free($this->text[0]);
        }
    }

    /**
     * Returns the numbers of the nodes of up to BATCH keys.
     *
     * @param string $keys the keys, concatenated
     * @param list<int> $offsets 0, and the offset of the end of each key
     * @return array<int, int>
     */
    public function locateMany(object $map, string $keys, array $offsets): array
    {
        $this->many ??= $this->c->new('int32_t[' . self::BATCH . ']');
        $count = $this->putOffsets($offsets);
        if ($this->c->stead_map_locate_many($map, $keys, \strlen($keys), $this->offsets, $count, $this->many, $this->error) !== 0) {
            $this->fail();
        }
        return \unpack('l*', \FFI::string($this->many, 4 * $count)) ?: [];
    }

    /**
     * Returns the numbers of all nodes of up to BATCH keys, and for each key how many of them there are
     * up to its last.
     *
     * @param string $keys the keys, concatenated
     * @param list<int> $offsets 0, and the offset of the end of each key
     * @return array{array<int, int>, array<int, int>}
     */
    public function locateAllMany(object $map, string $keys, array $offsets): array
    {
        $this->starts ??= $this->c->new('uint64_t[' . (self::BATCH + 1) . ']');
        $count = $this->putOffsets($offsets);
        // a named policy may need more
        for ($room = $count * $this->c->stead_map_replicas($map);; $room = $found) {
            $this->grow($room);
            if (
                $this->c->stead_map_locate_all_many(
                    $map,
                    $keys,
                    \strlen($keys),
                    $this->offsets,
                    $count,
                    $this->nodes,
                    $this->capacity,
                    $this->starts,
                    $this->count,
                    $this->error
                ) !== 0
            ) {
                $this->fail();
            }
            $found = $this->count[0];
            if ($found <= $this->capacity) {
                break;
            }
        }
        $nodes = \unpack('l*', \FFI::string($this->nodes, 4 * $found)) ?: [];
        return [$nodes, \unpack('P*', \FFI::string($this->starts, 8 * $count + 8), 8) ?: []];
    }

    /**
     * Returns what moves of up to BATCH keys: the position of the key, and the numbers of two nodes.
     *
     * @param string $keys the keys, concatenated
     * @param list<int> $offsets 0, and the offset of the end of each key
     * @return \Generator<array{int, int, int}>
     */
    public function affectsMany(object $plan, string $keys, array $offsets): \Generator
    {
        $count = $this->putOffsets($offsets);
        for ($room = \max($count, 1);; $room = $found) {
            $rows = $this->c->new("stead_affected[$room]");
            if ($this->c->stead_plan_affects_many($plan, $keys, \strlen($keys), $this->offsets, $count, $rows, $room, $this->count, $this->error) !== 0) {
                $this->fail();
            }
            $found = $this->count[0];
            if ($found <= $room) {
                break;
            }
        }
        for ($i = 0; $i < $found; $i++) {
            yield [$rows[$i]->key, $rows[$i]->from, $rows[$i]->to];
        }
    }

    /**
     * Returns 0 and the offsets of the ends of the keys when these are concatenated. Null counts as the
     * empty key.
     *
     * @param array<mixed> $keys
     * @return list<int>
     */
    public static function offsets(array $keys): array
    {
        $offsets = [$end = 0];
        foreach ($keys as $place => $key) {
            if (\is_string($key)) {
                $offsets[] = $end += \strlen($key);
            } elseif ($key === null) {
                $offsets[] = $end;
            } else {
                throw Exception::type("a key is a string, not \$keys[$place], which is " . \get_debug_type($key));
            }
        }
        return $offsets;
    }

    /**
     * Puts offsets into the buffer for a call, and returns the number of keys.
     *
     * @param list<int> $offsets
     */
    private function putOffsets(array $offsets): int
    {
        $this->offsets ??= $this->c->new('uint64_t[' . (self::BATCH + 1) . ']');
        $count = \count($offsets) - 1;
        \FFI::memcpy($this->offsets, \pack('P*', ...$offsets), 8 * $count + 8);
        return $count;
    }

    /**
     * Returns the functions of libstead, and the file that they come from.
     *
     * @return array{object, string}
     */
    private static function find(?string $file): array
    {
        if (!\extension_loaded('FFI') || !\method_exists(\FFI::class, 'cdef')) {
            throw new LibraryException("stead calls libstead through PHP's extension FFI, which is not there: "
                . 'install it and write extension=ffi into php.ini (and FFI not into disable_classes)');
        }
        if ($file !== null) {
            if ($file === '') {
                throw new LibraryException('Library::load was given an empty file name: name the file of libstead, or give null');
            }
            return [self::declare($file, 'given to Library::load'), $file];
        }
        try {
            $c = \FFI::scope('stead');
            self::check($c, 'the library of ffi.preload');
            return [$c, ''];
        } catch (\FFI\Exception) {
            // php.ini does not preload stead, or does not allow its use; in the second case the
            // code below fails with a message that says so
        }
        foreach (["the environment's STEAD_LIBRARY" => \getenv('STEAD_LIBRARY'), "php.ini's stead.library" => \get_cfg_var('stead.library')] as $whose => $named) {
            if (\is_string($named) && $named !== '') {
                return [self::declare($named, $whose), $named];
            }
        }
        foreach (self::beside() as $beside) {
            if (\is_file($beside)) {
                return [self::declare($beside, 'found beside the package'), $beside];
            }
        }
        return [self::declare(self::SONAME, null), self::SONAME];
    }

    /**
     * The files in which the package itself may have the library: in its lib/ and, within a source
     * tree of stead, the one that `make build` built.
     *
     * @return list<string>
     */
    private static function beside(): array
    {
        return [\dirname(__DIR__) . '/lib/' . self::SONAME, \dirname(__DIR__, 2) . '/target/release/libstead.so'];
    }

    /** Returns the functions of a library file. */
    private static function declare(string $file, ?string $whose): object
    {
        try {
            // the declaration fails as a whole if a function is missing, and the error would not
            // say that the library is too old
            self::check(\FFI::cdef('int32_t stead_abi(void);', $file), $file);
            return \FFI::cdef((string) \file_get_contents(__DIR__ . '/stead.cdef.h'), $file);
        } catch (\FFI\Exception $exception) {
            throw new LibraryException(self::explain($exception->getMessage(), $file, $whose), 0, 0, $exception);
        }
    }

    private static function check(object $c, string $file): void
    {
        $abi = $c->stead_abi();
        if ($abi !== self::ABI) {
            throw new LibraryException("$file has the binary interface $abi, and this package needs " . self::ABI . ': install both of one version');
        }
    }

    private static function explain(string $message, string $file, ?string $whose): string
    {
        if (\str_contains($message, 'ffi.enable')) {
            $preload = \dirname(__DIR__) . '/preload';
            $setting = \ini_get('ffi.enable') ?: 'false';
            return "php.ini does not let this script use FFI (ffi.enable=$setting): write ffi.enable=preload, ffi.preload=$preload/stead.h and "
                . "opcache.preload=$preload/preload.php into it, with opcache.preload_user where PHP starts as root, or ffi.enable=true; then restart";
        }
        if (\str_contains($message, 'resolving')) {
            return "$file is not libstead, or an older one ($message): install library and package of one version";
        }
        if ($whose !== null) {
            $why = match (true) {
                \is_dir($file) => 'it is a directory; name the file in it, such as libstead.so.1',
                \file_exists($file) => 'it is no library, not for this processor, lacks another library, or may not be read',
                default => 'there is no such file',
            };
            return "$file, $whose, cannot be loaded: $why ($message)";
        }
        return 'libstead is not found: neither ffi.preload, nor STEAD_LIBRARY in the environment, nor stead.library in php.ini names it, '
            . 'it is not at ' . \implode(' or ', self::beside()) . ", and the system does not know it ($message): "
            . 'install it (make install and ldconfig, or a package such as libstead1), or name its file';
    }

    private function __clone()
    {
    }
}
