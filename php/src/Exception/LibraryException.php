<?php

declare(strict_types=1);

namespace Stead\Exception;

use Stead\Exception;

/** libstead cannot be used here; the message says why, and what to do. It has no status. */
final class LibraryException extends Exception
{
}
