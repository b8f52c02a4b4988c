<?php

declare(strict_types=1);

namespace Stead;

/**
 * Points are unsigned 64-bit numbers, but PHP's int is signed. A point has the right bits, but
 * points from 8000000000000000 on are negative. So print them with `hex` (or sprintf('%u')), and
 * compare them with `compare`, never with <.
 */
final class Point
{
    /** Returns a point as 16 hex digits, the form that stead uses everywhere. */
    public static function hex(int $point): string
    {
        return \sprintf('%016x', $point);
    }

    /** Returns the point that 16 hex digits stand for. */
    public static function fromHex(string $digits): int
    {
        $bytes = \preg_match('/^[0-9a-fA-F]{16}\z/', $digits) === 1 ? \hex2bin($digits) : false;
        $point = $bytes === false ? false : \unpack('J', $bytes);
        if ($point === false) {
            throw Exception::of(Status::Invalid, 'a point is written as 16 hex digits, not "' . \addcslashes($digits, "\0..\37\"\\\177..\377") . '"');
        }
        return $point[1];
    }

    /** Returns a number below 0, 0, or above 0 if the first point is lower, the same, or higher. */
    public static function compare(int $first, int $second): int
    {
        return ($first ^ \PHP_INT_MIN) <=> ($second ^ \PHP_INT_MIN);
    }
}
