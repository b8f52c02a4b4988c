<?php

declare(strict_types=1);

namespace Stead;

/** A run of points, and who holds it. Points are the 64 bits of an int; see Point. */
final class Slice
{
    /**
     * @param int $first the first point
     * @param int $last the last point; it belongs to the slice
     * @param list<string> $nodes the names of the nodes, primary first
     * @param ?string $policy the name of the policy, when the fleet names it
     */
    public function __construct(
        public readonly int $first,
        public readonly int $last,
        public readonly array $nodes,
        public readonly ?string $policy,
    ) {
    }
}
