<?php

declare(strict_types=1);

namespace Stead\Exception;

use Stead\Exception;

/** Somebody else changed the map meanwhile; nothing was changed here. */
final class ConflictException extends Exception
{
}
