<?php

declare(strict_types=1);

namespace Stead;

/**
 * Texts that C ends with a NUL: paths and names. Keys are not among them, they may have any bytes.
 *
 * @internal
 */
final class Text
{
    /** The text, if C sees all of it. */
    public static function ended(string $text, string $what): string
    {
        if (\str_contains($text, "\0")) {
            throw Exception::of(Status::Invalid, "$what has a NUL byte: " . \addcslashes($text, "\0..\37\"\\\177"));
        }
        return $text;
    }
}
