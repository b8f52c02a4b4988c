<?php

declare(strict_types=1);

namespace Stead\Exception;

use Stead\Exception;

/** A fleet contains a mistake; the message says where. */
final class FleetException extends Exception
{
}
