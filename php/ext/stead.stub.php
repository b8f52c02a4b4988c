<?php

/**
 * The classes of the extension, for reflection and for editors. php/src has the same classes with
 * their manual; php/tests compares the two. `scripts/php-extension --arginfo` writes stead_arginfo.h.
 *
 * @generate-class-entries
 */

namespace Stead;

enum Status: int
{
    case Invalid = 1;
    case Fleet = 2;
    case Impossible = 3;
    case Format = 4;
    case Digest = 5;
    case Version = 6;
    case Identity = 7;
    case NotFound = 8;
    case Io = 9;
    case Conflict = 10;
    case Uncertain = 11;
    case Changed = 12;
    case Name = 13;
    case Internal = 15;
    case Permission = 16;
    case Memory = 17;
    case Guarded = 18;
}

enum Fold: string
{
    case None = "none";
    case Ascii = "ascii";

    public function of(string $key): string {}
}

class Exception extends \RuntimeException
{
    public readonly ?Status $status;
    public readonly int $errno;

    final public function __construct(string $message, int $status = 0, int $errno = 0, ?\Throwable $previous = null) {}

    final public static function of(Status|int $status, string $message, int $errno = 0): Exception {}
}

final class Library
{
    public static function backend(): string {}

    public static function load(?string $file = null): void {}

    public static function file(): string {}

    public static function version(): string {}
}

final class Map implements \JsonSerializable
{
    private function __construct() {}

    public static function open(string $path, bool $copy = false): Map {}

    public static function openUncached(string $path): Map {}

    public static function openEpoch(string $path, int $epoch): Map {}

    public static function fromBytes(string $bytes): Map {}

    public static function build(string|array $fleet, ?Map $previous = null, ?string $maxMove = null, ?string $name = null): Map {}

    public static function buildFile(string $path, ?Map $previous = null, ?string $maxMove = null): Map {}

    public static function apply(string|array $fleet, string $path, ?string $maxMove = null, ?string $name = null, ?string $allow = null): Map {}

    public static function applyFile(string $fleet, string $path, ?string $maxMove = null, ?string $allow = null): Map {}

    public static function history(string $path): array {}

    public static function rollback(string $path, int $epoch, ?string $back = null, ?string $allow = null): Map {}

    public static function peek(string $path): array {}

    public function locate(string $key): string {}

    public function locateAll(string $key): array {}

    public function locateMany(array $keys): array {}

    public function locateAllMany(array $keys): array {}

    public function prefer(string $key, int $n): array {}

    public function point(string $key): int {}

    public function locatePoint(int $point): string {}

    public function locateAllPoint(int $point): array {}

    public function name(): string {}

    public function epoch(): int {}

    public function digest(): string {}

    public function parent(): string {}

    public function replicas(): int {}

    public function hash(): string {}

    public function keyRule(): string {}

    public function spread(): array {}

    public function nodes(): array {}

    public function node(string $name): ?Node {}

    public function attribute(string $node, string $attribute): ?string {}

    public function label(string $node, string $label): ?string {}

    public function policies(): array {}

    public function slices(): array {}

    public function publish(string $path, ?Map $previous = null, ?string $allow = null): void {}

    public function save(string $path): void {}

    public function toBytes(): string {}

    public function fleet(): string {}

    public function same(Map $other): bool {}

    public function report(): array {}

    public function jsonSerialize(): array {}

    public function __clone(): void {}

    public function __serialize(): array {}

    public function __unserialize(array $data): void {}

    public function __debugInfo(): array {}
}

final class Node implements \JsonSerializable
{
    public readonly string $name;
    public readonly string $weight;
    private readonly Map $map;

    private function __construct() {}

    public function label(string $label): ?string {}

    public function labels(): array {}

    public function attribute(string $attribute): ?string {}

    public function attributes(): array {}

    public function leaving(): bool {}

    public function jsonSerialize(): array {}

    public function __debugInfo(): array {}
}

final class Policy
{
    public readonly ?string $name;
    public readonly string $kind;
    public readonly ?string $weight;
    public readonly array $nodes;

    public function __construct(?string $name, string $kind, ?string $weight, array $nodes) {}
}

final class Slice
{
    public readonly int $first;
    public readonly int $last;
    public readonly array $nodes;
    public readonly ?string $policy;

    public function __construct(int $first, int $last, array $nodes, ?string $policy) {}
}

final class Plan implements \Countable, \IteratorAggregate, \JsonSerializable
{
    private function __construct() {}

    public static function between(Map $old, Map $new): Plan {}

    public function old(): Map {}

    public function new(): Map {}

    public function count(): int {}

    public function getIterator(): \Iterator {}

    public function moves(): array {}

    public function affects(string $key): array {}

    public function affectsPoint(int $point): array {}

    public function affectsMany(array $keys): array {}

    public function fraction(): float {}

    public function moved(): string {}

    public function lowerBound(): string {}

    public function byHand(): string {}

    public function reordered(): string {}

    public function report(bool $moves = false): array {}

    public function jsonSerialize(): array {}

    public function __clone(): void {}

    public function __serialize(): array {}

    public function __unserialize(array $data): void {}

    public function __debugInfo(): array {}
}

final class Pair
{
    private function __construct() {}

    public static function open(string $path, bool $copy = false, ?int $epoch = null, ?string $state = null): Pair {}

    public static function between(Map $old, Map $new, string $state): Pair {}

    public function state(): ?string {}

    public function new(): Map {}

    public function old(): ?Map {}

    public function reads(string $key): array {}

    public function writes(string $key): array {}

    public function moved(string $key): bool {}

    public function readsPoint(int $point): array {}

    public function writesPoint(int $point): array {}

    public function movedPoint(int $point): bool {}

    public function attribute(string $node, string $attribute): ?string {}

    public function __clone(): void {}

    public function __serialize(): array {}

    public function __unserialize(array $data): void {}

    public function __debugInfo(): array {}
}

final class Move
{
    public readonly int $first;
    public readonly int $last;
    public readonly ?string $from;
    public readonly ?string $to;
    public readonly string $cause;

    public function __construct(int $first, int $last, ?string $from, ?string $to, string $cause) {}
}

final class Affected
{
    public readonly int|string $key;
    public readonly ?string $from;
    public readonly ?string $to;

    public function __construct(int|string $key, ?string $from, ?string $to) {}
}

final class Path
{
    public static function of(string $key, string|array|null $levels = null, Fold $fold = Fold::None): string {}

    public static function name(string $path, string|array|null $levels = null): string {}

    public static function survey(array $names, ?int $members = null, string|array|null $levels = null): array {}
}

final class Point
{
    public static function hex(int $point): string {}

    public static function fromHex(string $digits): int {}

    public static function compare(int $first, int $second): int {}
}

namespace Stead\Exception;

final class InvalidException extends \Stead\Exception
{
}

final class FleetException extends \Stead\Exception
{
}

final class ImpossibleException extends \Stead\Exception
{
}

class FormatException extends \Stead\Exception
{
}

final class DigestException extends FormatException
{
}

final class VersionException extends \Stead\Exception
{
}

final class IdentityException extends \Stead\Exception
{
}

class IoException extends \Stead\Exception
{
}

final class NotFoundException extends IoException
{
}

final class PermissionDeniedException extends IoException
{
}

final class ConflictException extends \Stead\Exception
{
}

final class UncertainException extends IoException
{
}

final class ChangedException extends \Stead\Exception
{
}

final class PathNameException extends \Stead\Exception
{
}

final class InternalException extends \Stead\Exception
{
}

final class OutOfMemoryException extends \Stead\Exception
{
}

final class GuardedException extends \Stead\Exception
{
}

final class LibraryException extends \Stead\Exception
{
}
