<?php

declare(strict_types=1);

namespace Stead\Exception;

use Stead\Exception;

/** A fleet is well written and cannot be met. */
final class ImpossibleException extends Exception
{
}
