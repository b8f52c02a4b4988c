<?php

declare(strict_types=1);

namespace Stead\Exception;

use Stead\Exception;

/** A fleet is well formed, but no map can satisfy it. */
final class ImpossibleException extends Exception
{
}
