<?php

declare(strict_types=1);

namespace Stead;

/** A list of nodes to which the map gives slices. */
final class Policy
{
    /**
     * @param ?string $name the name that the fleet gives it; null for a policy that stead chose
     * @param string $kind the kind that the fleet gives it; "" if it gives none
     * @param ?string $weight the weight as an exact decimal, if the policy takes a share of its own as
     *     if it were a node; otherwise null
     * @param list<string> $nodes the names of the nodes, primary first
     */
    public function __construct(
        public readonly ?string $name,
        public readonly string $kind,
        public readonly ?string $weight,
        public readonly array $nodes,
    ) {
    }
}
