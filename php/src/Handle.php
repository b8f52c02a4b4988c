<?php

declare(strict_types=1);

namespace Stead;

/**
 * A pointer that libstead gave and that is ended once, when the last object that has it is gone.
 *
 * @internal
 */
final class Handle
{
    /** @param string $end the function that ends it */
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
