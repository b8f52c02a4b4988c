<?php

declare(strict_types=1);

namespace Stead\Exception;

/** The operating system said: not allowed. */
final class PermissionDeniedException extends IoException
{
}
