<?php

declare(strict_types=1);

namespace Stead\Exception;

use Stead\Exception;

/** Stead has a bug: please report it. */
final class InternalException extends Exception
{
}
