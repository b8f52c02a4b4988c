<?php

declare(strict_types=1);

namespace Stead;

/** A node of a map: a server, a mount point, a shard. */
final class Node implements \JsonSerializable
{
    /**
     * @param string $name the stable name
     * @param string $weight the weight, as an exact decimal
     */
    private function __construct(public readonly string $name, public readonly string $weight, private readonly Map $map)
    {
    }

    /**
     * Returns a node of a map.
     *
     * @internal maps create nodes
     */
    public static function of(string $name, string $weight, Map $map): self
    {
        return new self($name, $weight, $map);
    }

    /** Returns a label, such as the zone; null if the node has none of this name. */
    public function label(string $label): ?string
    {
        return $this->map->label($this->name, $label);
    }

    /**
     * Returns all labels by their names, in the order of the names. PHP turns a name such as "7" into
     * an int.
     *
     * @return array<string>
     */
    public function labels(): array
    {
        return $this->map->labelsOf($this->name);
    }

    /** Returns an attribute, such as the address; null if the node has none of this name. */
    public function attribute(string $attribute): ?string
    {
        return $this->map->attribute($this->name, $attribute);
    }

    /**
     * Returns all attributes by their names, in the order of the names. PHP turns a name such as "7"
     * into an int.
     *
     * @return array<string>
     */
    public function attributes(): array
    {
        return $this->map->attributesOf($this->name);
    }

    /**
     * Returns whether the fleet dropped the node, and it still holds points that the next steps of a
     * gradual change will take away.
     */
    public function leaving(): bool
    {
        return $this->map->isLeaving($this->name);
    }

    /**
     * Returns the name, the weight, the labels and the attributes, for json_encode.
     *
     * @return array<string, string|object>
     */
    public function jsonSerialize(): array
    {
        // without labels, JSON has {} and not []
        return ['name' => $this->name, 'weight' => $this->weight, 'labels' => (object) $this->labels(), 'attributes' => (object) $this->attributes()];
    }

    /** @return array<string, string|array<string>> */
    public function __debugInfo(): array
    {
        return ['name' => $this->name, 'weight' => $this->weight, 'labels' => $this->labels(), 'attributes' => $this->attributes()];
    }
}
