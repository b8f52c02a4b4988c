<?php

declare(strict_types=1);

namespace Stead\Exception;

use Stead\Exception;

/**
 * A file was overwritten in place while it was open. Maps that are open keep their answers, except
 * memory-mapped ones.
 */
final class ChangedException extends Exception
{
}
