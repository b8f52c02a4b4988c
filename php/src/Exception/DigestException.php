<?php

declare(strict_types=1);

namespace Stead\Exception;

/** The digest of a map does not match its bytes. */
final class DigestException extends FormatException
{
}
