<?php

declare(strict_types=1);

namespace Stead\Exception;

use Stead\Exception;

/** The map belongs to another cluster, has another hash or key rule, or is not the newest of its history. */
final class IdentityException extends Exception
{
}
