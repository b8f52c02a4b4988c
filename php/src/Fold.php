<?php

declare(strict_types=1);

namespace Stead;

/** How the letters of a key are folded before anything else, for sites whose names ignore case. */
enum Fold: string
{
    /** No folding. */
    case None = 'none';
    /** A-Z become a-z; all other bytes stay as they are, in every locale. */
    case Ascii = 'ascii';

    /** Returns the folded key. If your paths are folded, pass it to Map::locate as well. */
    public function of(string $key): string
    {
        return $this === self::Ascii ? \strtr($key, 'ABCDEFGHIJKLMNOPQRSTUVWXYZ', 'abcdefghijklmnopqrstuvwxyz') : $key;
    }
}
