<?php

declare(strict_types=1);

namespace Stead\Exception;

use Stead\Exception;

/** A key has no path: its file name would be too long. */
final class PathNameException extends Exception
{
}
