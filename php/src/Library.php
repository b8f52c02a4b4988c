<?php

declare(strict_types=1);

namespace Stead;

/**
 * The loaded libstead. A program does not have to call anything here: the first map loads the
 * library.
 */
final class Library
{
    /**
     * How stead is called: "extension" if php.ini loads stead.so, otherwise "ffi". Both have the
     * same classes.
     */
    public static function backend(): string
    {
        return 'ffi';
    }

    /**
     * Loads libstead. Without a file, it takes the first of these: the library that php.ini loaded
     * (ffi.preload); the file in the environment variable STEAD_LIBRARY; the file in php.ini's
     * stead.library; lib/libstead.so.1 of this package; libstead.so.1 in the search path of the
     * system. To choose the file, call this before anything else of stead. The extension loads the
     * library when PHP starts, from STEAD_LIBRARY, from stead.library, or from the search path; there
     * this only checks that the file is the one that is loaded.
     *
     * @throws Exception\LibraryException whose message says what to do
     */
    public static function load(?string $file = null): void
    {
        Ffi::load($file);
    }

    /** The file that was loaded; "" if php.ini loaded it (ffi.preload). */
    public static function file(): string
    {
        return Ffi::load()->file;
    }

    /** The version of libstead, such as "0.1.0". */
    public static function version(): string
    {
        return Ffi::load()->c->stead_version();
    }
}
