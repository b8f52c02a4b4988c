<?php

declare(strict_types=1);

namespace Stead\Exception;

/** The bytes are a map whose digest does not fit. */
final class DigestException extends FormatException
{
}
