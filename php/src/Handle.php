<?php

declare(strict_types=1);

namespace Stead;

/**
 * Owns a pointer from libstead, and frees it once, when the last object that refers to it is freed.
 *
 * @internal
 */
final class Handle
{
    /** @param string $end the function that frees it */
    public function __construct(private readonly object $c, public readonly object $pointer, private readonly string $end)
    {
    }

    public function __destruct()
    {
        $this->c->{$this->end}($this->pointer);
    }

    private function __clone()
    {
    }
}
