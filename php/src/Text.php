<?php

declare(strict_types=1);

namespace Stead;

/**
 * Texts that end with a NUL in C: paths and names. Keys are not among them, because they may
 * contain any bytes.
 *
 * @internal
 */
final class Text
{
    /** Returns the text, or throws if it contains a NUL, where C would cut it off. */
    public static function ended(string $text, string $what): string
    {
        if (\str_contains($text, "\0")) {
            throw Exception::of(Status::Invalid, "$what has a NUL byte: " . \addcslashes($text, "\0..\37\"\\\177"));
        }
        return $text;
    }
}
