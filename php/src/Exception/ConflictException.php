<?php

declare(strict_types=1);

namespace Stead\Exception;

use Stead\Exception;

/** Another process changed the map meanwhile; nothing was written. */
final class ConflictException extends Exception
{
}
