<?php

declare(strict_types=1);

namespace Stead\Exception;

use Stead\Exception;

/** The operating system refused to read or write; `errno` says why. */
class IoException extends Exception
{
}
