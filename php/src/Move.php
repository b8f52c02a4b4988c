<?php

declare(strict_types=1);

namespace Stead;

/** A run of points of which one copy moves. Points are the 64 bits of an int; see Point. */
final class Move
{
    /**
     * @param int $first the first point
     * @param int $last the last point, which is included in the move
     * @param ?string $from the node that loses the copy; null when a copy is added
     * @param ?string $to the node that gets the copy; null when a copy is dropped
     * @param string $cause why the copy moves: "rebalance", "pin" or "policy"
     */
    public function __construct(
        public readonly int $first,
        public readonly int $last,
        public readonly ?string $from,
        public readonly ?string $to,
        public readonly string $cause,
    ) {
    }
}
