<?php

declare(strict_types=1);

namespace Stead;

/**
 * What went wrong, as a number; the same in every language. An exception has it as its `status`,
 * and the number as its code.
 */
enum Status: int
{
    /** An argument is out of its range. */
    case Invalid = 1;
    /** A fleet has a mistake. */
    case Fleet = 2;
    /** A fleet is well written and cannot be met. */
    case Impossible = 3;
    /** Not a map, or a damaged one. */
    case Format = 4;
    /** A map whose digest does not fit. */
    case Digest = 5;
    /** The map needs a newer stead. */
    case Version = 6;
    /** The map belongs to another cluster, or has another hash. */
    case Identity = 7;
    /** A file is missing. */
    case NotFound = 8;
    /** The operating system refused to read or write. */
    case Io = 9;
    /** Somebody else changed the map meanwhile; nothing was changed here. */
    case Conflict = 10;
    /** The new map is in place, but may not survive a power cut. */
    case Uncertain = 11;
    /** A file was overwritten in place while it was open. */
    case Changed = 12;
    /** A key has no path: its file name would be too long. */
    case Name = 13;
    // 14 was never thrown, and is not used again
    /** A fault in stead itself: please report it. */
    case Internal = 15;
}
