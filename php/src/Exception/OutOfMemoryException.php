<?php

declare(strict_types=1);

namespace Stead\Exception;

use Stead\Exception;

/** There is not enough memory for the call. */
final class OutOfMemoryException extends Exception
{
}
