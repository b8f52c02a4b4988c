<?php

declare(strict_types=1);

namespace Stead;

/** What happens to the letters of a key before anything else, for sites whose names ignore case. */
enum Fold: string
{
    /** Nothing. */
    case None = 'none';
    /** A-Z become a-z; all other bytes stay, in every locale. */
    case Ascii = 'ascii';

    /** The key, folded: to locate by it where paths are folded, too. */
    public function of(string $key): string
    {
        return $this === self::Ascii ? \strtr($key, 'ABCDEFGHIJKLMNOPQRSTUVWXYZ', 'abcdefghijklmnopqrstuvwxyz') : $key;
    }
}
