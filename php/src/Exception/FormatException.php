<?php

declare(strict_types=1);

namespace Stead\Exception;

use Stead\Exception;

/** The bytes are not a map, or their structure is damaged. */
class FormatException extends Exception
{
}
