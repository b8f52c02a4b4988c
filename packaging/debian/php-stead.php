mod debian/build-php/modules/stead.so
mod debian/stead.ini
