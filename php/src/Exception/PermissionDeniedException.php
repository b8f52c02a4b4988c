<?php

declare(strict_types=1);

namespace Stead\Exception;

/** The operating system denied access. */
final class PermissionDeniedException extends IoException
{
}
