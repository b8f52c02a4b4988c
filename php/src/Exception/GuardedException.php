<?php

declare(strict_types=1);

namespace Stead\Exception;

use Stead\Exception;

/** The change does harm that a guard forbids, and the guard was not lifted. Nothing was changed. */
final class GuardedException extends Exception
{
}
