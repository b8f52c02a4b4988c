<?php

declare(strict_types=1);

namespace Stead;

/** A node of a map: a server, a mount point, a shard. */
final class Node
{
    /**
     * @internal maps make them
     * @param string $name its stable name
     * @param string $weight what it wants, as an exact decimal
     */
    public function __construct(public readonly string $name, public readonly string $weight, private readonly Map $map)
    {
    }

    /** A label, such as its zone; null when it has none of this name. */
    public function label(string $label): ?string
    {
        return $this->map->label($this->name, $label);
    }

    /** An attribute, such as its address; null when it has none of this name. */
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
