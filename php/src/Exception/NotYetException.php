<?php

declare(strict_types=1);

namespace Stead\Exception;

use Stead\Exception;

/** Designed, and not built yet. */
final class NotYetException extends Exception
{
}
