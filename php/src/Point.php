<?php

declare(strict_types=1);

namespace Stead;

/**
 * Points are numbers of 64 bits without a sign, and PHP's int has one: the bits are right, and
 * points from 8000000000000000 on are negative. So write them with `hex` (or sprintf('%u')), and
 * compare them with `compare`, never with <.
 */
final class Point
{
    /** A point as 16 hex digits, as all of stead writes them. */
    public static function hex(int $point): string
    {
        return \sprintf('%016x', $point);
    }

    /** The point of 16 hex digits. */
    public static function fromHex(string $digits): int
    {
        $bytes = \preg_match('/^[0-9a-fA-F]{16}\z/', $digits) === 1 ? \hex2bin($digits) : false;
        $point = $bytes === false ? false : \unpack('J', $bytes);
        if ($point === false) {
            throw Exception::of(Status::Invalid, 'a point is written as 16 hex digits, not "' . \addcslashes($digits, "\0..\37\"\\\177..\377") . '"');
        }
        return $point[1];
    }

    /** Below 0, 0 or above 0, as the first point is lower, the same, or higher. */
    public static function compare(int $first, int $second): int
    {
        return ($first ^ \PHP_INT_MIN) <=> ($second ^ \PHP_INT_MIN);
    }
}
