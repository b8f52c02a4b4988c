<?php

declare(strict_types=1);

namespace Stead\Exception;

/**
 * The new map is in place, but may not survive a power cut. Do not publish again; sync the
 * disk.
 */
final class UncertainException extends IoException
{
}
