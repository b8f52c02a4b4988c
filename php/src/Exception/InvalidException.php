<?php

declare(strict_types=1);

namespace Stead\Exception;

use Stead\Exception;

/** An argument is out of range. */
final class InvalidException extends Exception
{
}
