<?php

declare(strict_types=1);

namespace Stead\Exception;

use Stead\Exception;

/** A system call to read or write failed; `errno` says why. */
class IoException extends Exception
{
}
