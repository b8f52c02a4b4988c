<?php

declare(strict_types=1);

namespace Stead\Exception;

use Stead\Exception;

/** A fault in stead itself: please report it. */
final class InternalException extends Exception
{
}
