<?php

declare(strict_types=1);

namespace Stead\Exception;

/** A file is missing. */
final class NotFoundException extends IoException
{
}
