<?php

declare(strict_types=1);

namespace Stead\Bench;

use Stead\Map;

/** The code of a careful programmer: MD5, the first 8 bytes as a number, a binary search. */
final class Pure
{
    /** @var list<int> the first points, with the top bit flipped, since PHP's int is signed */
    private array $firsts = [];
    /** @var list<string> */
    private array $nodes = [];

    public function __construct(Map $map)
    {
        foreach ($map->slices() as $slice) {
            $this->firsts[] = $slice->first ^ PHP_INT_MIN;
            $this->nodes[] = $slice->nodes[0];
        }
    }

    public function locate(string $key): string
    {
        $point = \unpack('J', \md5($key, true))[1] ^ \PHP_INT_MIN;
        [$low, $high] = [0, \count($this->firsts)];
        while ($high - $low > 1) {
            $middle = ($low + $high) >> 1;
            if ($this->firsts[$middle] <= $point) {
                $low = $middle;
            } else {
                $high = $middle;
            }
        }
        return $this->nodes[$low];
    }
}
