<?php

declare(strict_types=1);

namespace Stead\Exception;

use Stead\Exception;

/** The map needs a newer stead. */
final class VersionException extends Exception
{
}
