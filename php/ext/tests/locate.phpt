--TEST--
A map is built and answers
--EXTENSIONS--
stead
--SKIPIF--
<?php
try {
    Stead\Library::load();
} catch (Stead\Exception\LibraryException $exception) {
    die('skip ' . $exception->getMessage());
}
?>
--FILE--
<?php
$map = Stead\Map::build(['name' => 'members', 'node' => [['name' => 'db1'], ['name' => 'db2', 'weight' => 1.5]]]);
echo Stead\Library::backend(), ' ', $map->locate('frank'), ' ', $map->locate('bob'), "\n";
try {
    Stead\Map::fromBytes('no map');
} catch (Stead\Exception\FormatException $exception) {
    echo $exception->status->name, ' in line ', $exception->getLine(), "\n";
}
?>
--EXPECT--
extension db1 db2
Format in line 5
