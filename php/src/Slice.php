<?php

declare(strict_types=1);

namespace Stead;

/** A run of points, and the nodes that hold it. Points are the 64 bits of an int; see Point. */
final class Slice
{
    /**
     * @param int $first the first point
     * @param int $last the last point, which is included in the slice
     * @param list<string> $nodes the names of the nodes, primary first
     * @param ?string $policy the name of the policy if the fleet names it, otherwise null
     */
    public function __construct(
        public readonly int $first,
        public readonly int $last,
        public readonly array $nodes,
        public readonly ?string $policy,
    ) {
    }
}
