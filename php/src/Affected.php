<?php

declare(strict_types=1);

namespace Stead;

/** A copy of a key that moves. */
final class Affected
{
    /**
     * @param int|string $key the array key that the key has among those given to Plan::affectsMany
     * @param ?string $from the node that loses the copy; null when a copy is added
     * @param ?string $to the node that gets the copy; null when a copy is dropped
     */
    public function __construct(
        public readonly int|string $key,
        public readonly ?string $from,
        public readonly ?string $to,
    ) {
    }
}
