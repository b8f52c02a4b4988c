<?php

declare(strict_types=1);

namespace Stead\Exception;

use Stead\Exception;

/** The map belongs to another cluster, or has another hash or key rule. */
final class IdentityException extends Exception
{
}
