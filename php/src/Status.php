<?php

declare(strict_types=1);

namespace Stead;

/**
 * The status number of a failure, the same in every language. An exception has it as its `status`,
 * and its number as its code.
 */
enum Status: int
{
    /** An argument is out of range. */
    case Invalid = 1;
    /** A fleet contains a mistake. */
    case Fleet = 2;
    /** A fleet is well formed, but no map can satisfy it. */
    case Impossible = 3;
    /** The bytes are not a map, or their structure is damaged. */
    case Format = 4;
    /** The digest of a map does not match its bytes. */
    case Digest = 5;
    /** The map needs a newer stead. */
    case Version = 6;
    /** The map belongs to another cluster, has another hash or key rule, or is not the newest of its history. */
    case Identity = 7;
    /** A file is missing. */
    case NotFound = 8;
    /** A system call to read or write failed. */
    case Io = 9;
    /** Another process changed the map meanwhile; nothing was written. */
    case Conflict = 10;
    /** The new map is in place, but may not survive a power cut. */
    case Uncertain = 11;
    /** A file was overwritten in place while it was open. */
    case Changed = 12;
    /** A key has no path: its file name would be too long. */
    case Name = 13;
    // 14 was never thrown, and is not reused
    /** Stead has a bug: please report it. */
    case Internal = 15;
    /** The system denied permission to read or write. */
    case Permission = 16;
    /** There is not enough memory. */
    case Memory = 17;
    /** The change does harm that a guard forbids, and the guard was not lifted. */
    case Guarded = 18;
}
