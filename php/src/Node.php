<?php

declare(strict_types=1);

namespace Stead;

/** A node of a map: a server, a mount point, a shard. */
final class Node
{
    /**
     * @internal maps create nodes
     * @param string $name the stable name
     * @param string $weight the weight, as an exact decimal
     */
    public function __construct(public readonly string $name, public readonly string $weight, private readonly Map $map)
    {
    }

    /** Returns a label, such as the zone; null if the node has none of this name. */
    public function label(string $label): ?string
    {
        return $this->map->label($this->name, $label);
    }

    /** Returns an attribute, such as the address; null if the node has none of this name. */
    public function attribute(string $attribute): ?string
    {
        return $this->map->attribute($this->name, $attribute);
    }

    /** @return array{name: string, weight: string} */
    public function __debugInfo(): array
    {
        return ['name' => $this->name, 'weight' => $this->weight];
    }
}
