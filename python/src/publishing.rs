//! The methods of the Python class `Map` that open, build and publish maps.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};

use stead::point::Share;
use stead::store::Back;
use stead::{Fleet, Store};

use crate::argument::{allow, flag, max_move, optional, path, text, wrong};
use crate::error::{whole, Raise};
use crate::fleet;
use crate::fleet::Source;
use crate::map::Map;

#[pymethods]
impl Map {
    /// Opens a map file. This costs one stat if the process has the file open already and it is
    /// unchanged.
    ///
    /// path: str or os.PathLike. copy: whether to read the file into memory whatever its size.
    /// Without it, files above 1 MiB are memory-mapped and shared by all processes. If another
    /// program overwrites such a file in place, maps that are open give wrong answers; if it
    /// truncates the file, this process is killed by SIGBUS.
    ///
    /// After the file was replaced by renaming, the next call opens the new file, and maps that
    /// are open keep their answers. So a server should open its map in each request.
    ///
    /// Raises NotFoundError, PermissionDeniedError, IoError, FormatError, DigestError,
    /// VersionError, and ChangedError when the file was overwritten in place.
    ///
    /// >>> stead.Map.open("members.map").name
    /// 'members'
    #[staticmethod]
    #[pyo3(signature = (path, *, copy = None), text_signature = "(path, *, copy=False)")]
    fn open(
        py: Python<'_>,
        path: &Bound<'_, PyAny>,
        copy: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Map> {
        let (path, copy) = (self::path("path", path)?, flag("copy", copy)?);
        let open = if copy {
            stead::Map::open_copy
        } else {
            stead::Map::open
        };
        py.detach(|| open(&path)).raise(py).map(Map::new)
    }

    /// Opens and verifies a map file without the cache of open maps, and reads it into memory
    /// whatever its size. Use it to look at many files once, such as the epochs of a history.
    ///
    /// Raises NotFoundError, PermissionDeniedError, IoError, FormatError, DigestError and
    /// VersionError.
    ///
    /// >>> stead.Map.open_uncached("members.map") == stead.Map.open("members.map")
    /// True
    #[staticmethod]
    fn open_uncached(py: Python<'_>, path: &Bound<'_, PyAny>) -> PyResult<Map> {
        let path = self::path("path", path)?;
        py.detach(|| stead::Map::open_uncached(&path))
            .raise(py)
            .map(|map| Map::new(Arc::new(map)))
    }

    /// Makes a map from the bytes of a map file, and verifies them.
    ///
    /// Raises FormatError, DigestError and VersionError.
    ///
    /// >>> stead.Map.from_bytes(members.to_bytes()) == members
    /// True
    #[staticmethod]
    fn from_bytes(py: Python<'_>, data: &Bound<'_, PyAny>) -> PyResult<Map> {
        let Ok(bytes) = data.cast::<PyBytes>() else {
            let remedy = if data.is_instance_of::<PyString>() {
                "; open a file with stead.Map.open(path)"
            } else {
                "; write bytes(data)"
            };
            return Err(wrong("data", "the bytes of a map", data, remedy));
        };
        let bytes = bytes.as_bytes().to_vec();
        py.detach(|| stead::Map::from_bytes(bytes))
            .raise(py)
            .map(|map| Map::new(Arc::new(map)))
    }

    /// Builds the map of a fleet: the first one or, if previous is given, the next epoch of that
    /// map, from which as little as possible moves.
    ///
    /// fleet: the text of a fleet, TOML or JSON (str or bytes), or a dict of the same shape
    /// (docs/fleet.md); Map.build_file takes a file. In a dict, a weight is an int, a Decimal, a
    /// str,
    /// or a float, which counts as the decimal in its repr: 0.1 is exactly a tenth. A weight has at
    /// most 6 decimal places.
    ///
    /// previous: the map to build on. It must be of the same cluster. max_move: the upper bound on
    /// the part of all copies that may move in this epoch, such as "5%". The map then contains its
    /// target slices, and building the same fleet on it takes the next step, until nothing is left
    /// to do (see same). Without previous nothing moves, so max_move changes nothing. name: what
    /// messages call the fleet.
    ///
    /// No file is written. The same fleet, previous map and options give the same map everywhere.
    /// Other threads run meanwhile.
    ///
    /// Raises FleetError, whose text begins with the line or the place in the dict; ImpossibleError
    /// if the fleet is well formed, but no map can satisfy it; IdentityError if previous is of
    /// another cluster or hash; InvalidError if max_move is wrong.
    ///
    /// >>> fleet = {"name": "members", "node": [{"name": "db1"}, {"name": "db2", "weight": 1.5}]}
    /// >>> before = stead.Map.build(fleet)
    /// >>> fleet["node"].append({"name": "db3", "labels": {"zone": "b"}})
    /// >>> after = stead.Map.build(fleet, before)
    /// >>> after.epoch, f"{stead.Plan.between(before, after).fraction:.4f}"
    /// (2, '0.2857')
    /// >>> stead.Map.build(fleet, before, max_move="10%").slices == after.slices
    /// False
    /// >>> wrong = {"name": "members", "node": [{"name": "db1", "wieght": 2}]}
    /// >>> stead.Map.build(wrong)  # doctest: +ELLIPSIS
    /// Traceback (most recent call last):
    /// stead.FleetError: fleet['node'][0]['wieght']: unknown key `wieght` in `node`; known ...
    #[staticmethod]
    #[pyo3(signature = (fleet, previous = None, *, max_move = None, name = None))]
    fn build(
        py: Python<'_>,
        fleet: &Bound<'_, PyAny>,
        previous: Option<&Bound<'_, PyAny>>,
        max_move: Option<&Bound<'_, PyAny>>,
        name: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Map> {
        let name = name.map(|name| text("name", name, "")).transpose()?;
        let (most, previous) = (self::max_move(max_move)?, optional("previous", previous)?);
        let (fleet, source) = fleet::read(fleet, name.unwrap_or("fleet"), "Map.build_file(path)")?;
        next(py, &fleet, &source, previous, most)
    }

    /// Builds the map of a fleet file, as Map.build does with a text. Messages call the fleet by
    /// its path.
    ///
    /// Raises the exceptions of Map.build, and NotFoundError, PermissionDeniedError or IoError if
    /// the file cannot be read.
    ///
    /// >>> import pathlib
    /// >>> text = "name = 'members'\nnode = [{name = 'db1'}]"
    /// >>> size = pathlib.Path("fleet.toml").write_text(text)
    /// >>> stead.Map.build_file("fleet.toml")
    /// <stead.Map "members" epoch 1, 1 nodes, 1 slices, c5ec533c>
    #[staticmethod]
    #[pyo3(signature = (path, previous = None, *, max_move = None))]
    fn build_file(
        py: Python<'_>,
        path: &Bound<'_, PyAny>,
        previous: Option<&Bound<'_, PyAny>>,
        max_move: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Map> {
        let path = self::path("path", path)?;
        let (most, previous) = (self::max_move(max_move)?, optional("previous", previous)?);
        let fleet = py.detach(|| Fleet::read(&path)).raise(py)?;
        next(py, &fleet, &Source::Lines, previous, most)
    }
    /// Builds the map of a fleet on the map at path, or a first map if there is no file, and
    /// publishes it if it differs. Returns the map that is then at path.
    ///
    /// fleet, max_move and name are those of Map.build, and path and allow are those of publish.
    ///
    /// Raises the exceptions of Map.build and of publish. After a ConflictError, call it again.
    ///
    /// >>> fleet["node"].append({"name": "db3"})
    /// >>> stead.Map.apply(fleet, "members.map").epoch
    /// 2
    /// >>> stead.Map.apply(fleet, "members.map").epoch  # nothing changed
    /// 2
    #[staticmethod]
    #[pyo3(signature = (fleet, path, *, max_move = None, name = None, allow = None))]
    fn apply(
        py: Python<'_>,
        fleet: &Bound<'_, PyAny>,
        path: &Bound<'_, PyAny>,
        max_move: Option<&Bound<'_, PyAny>>,
        name: Option<&Bound<'_, PyAny>>,
        allow: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Map> {
        let (path, most) = (self::path("path", path)?, self::max_move(max_move)?);
        let allow = self::allow(allow)?;
        let name = name.map(|name| text("name", name, "")).transpose()?;
        let file = "Map.apply_file(fleet_path, path)";
        let (fleet, source) = fleet::read(fleet, name.unwrap_or("fleet"), file)?;
        let applied = py.detach(|| store(&path).allowing(allow).apply(&fleet, most));
        source.raise(py, applied).map(|map| Map::new(Arc::new(map)))
    }

    /// Applies a fleet file, as Map.apply does with a text. Messages call the fleet by its path.
    ///
    /// >>> import pathlib
    /// >>> text = "name = 'members'\n[[node]]\nname = 'db1'\n"
    /// >>> size = pathlib.Path("fleet.toml").write_text(text)
    /// >>> stead.Map.apply_file("fleet.toml", "members.map").epoch
    /// 2
    #[staticmethod]
    #[pyo3(signature = (fleet_path, path, *, max_move = None, allow = None))]
    fn apply_file(
        py: Python<'_>,
        fleet_path: &Bound<'_, PyAny>,
        path: &Bound<'_, PyAny>,
        max_move: Option<&Bound<'_, PyAny>>,
        allow: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Map> {
        let fleet_path = self::path("fleet_path", fleet_path)?;
        let (path, most) = (self::path("path", path)?, self::max_move(max_move)?);
        let store = store(&path).allowing(self::allow(allow)?);
        py.detach(|| store.apply(&Fleet::read(&fleet_path)?, most))
            .raise(py)
            .map(|map| Map::new(Arc::new(map)))
    }

    /// Returns the epochs that the history of a map has: a list of int, the oldest first.
    ///
    /// Raises IoError and its subclasses.
    ///
    /// >>> stead.Map.history("members.map")
    /// [1]
    #[staticmethod]
    fn history(py: Python<'_>, path: &Bound<'_, PyAny>) -> PyResult<Vec<u64>> {
        let path = self::path("path", path)?;
        py.detach(|| store(&path).history()).raise(py)
    }

    /// Opens an epoch of the history of the map at path.
    ///
    /// Raises NotFoundError if the history does not have the epoch, and the exceptions of
    /// Map.open_uncached.
    ///
    /// >>> stead.Map.open_epoch("members.map", 1) == members
    /// True
    #[staticmethod]
    fn open_epoch(
        py: Python<'_>,
        path: &Bound<'_, PyAny>,
        epoch: &Bound<'_, PyAny>,
    ) -> PyResult<Map> {
        let (path, epoch) = (self::path("path", path)?, epoch_of(epoch)?);
        py.detach(|| store(&path).open_epoch(epoch))
            .raise(py)
            .map(|map| Map::new(Arc::new(map)))
    }

    /// Goes back to an old epoch in a new epoch, so that every reader notices the change, and
    /// returns the map that is then at path. Publishes nothing if nothing would change.
    ///
    /// back says how: "exact" publishes the slices of the old epoch again, so that every key lives
    /// where it lived then; "least" builds the fleet of the old epoch on the newest one, which
    /// moves as little as possible. Without it the epoch just before the newest one comes back
    /// exactly, and an older one raises InvalidError, which says what both would move.
    /// Nodes keep the attributes that they have now if data has moved since the old epoch.
    ///
    /// allow: as in publish; "take-back" is never needed here.
    ///
    /// Raises the exceptions of Map.open_epoch and of publish.
    ///
    /// >>> fleet["node"].append({"name": "db3"})
    /// >>> grown = stead.Map.apply(fleet, "members.map")
    /// >>> back = stead.Map.rollback("members.map", 1)
    /// >>> back.epoch, back.same(members)
    /// (3, True)
    #[staticmethod]
    #[pyo3(signature = (path, epoch, *, back = None, allow = None))]
    fn rollback(
        py: Python<'_>,
        path: &Bound<'_, PyAny>,
        epoch: &Bound<'_, PyAny>,
        back: Option<&Bound<'_, PyAny>>,
        allow: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Map> {
        let (path, epoch) = (self::path("path", path)?, epoch_of(epoch)?);
        let remedy = "; write \"exact\" or \"least\"";
        let back = back.map(|back| text("back", back, remedy)).transpose()?;
        let back = back.map(Back::named).transpose().raise(py)?;
        let store = store(&path).allowing(self::allow(allow)?);
        py.detach(|| store.rollback(epoch, back))
            .raise(py)
            .map(|map| Map::new(Arc::new(map)))
    }

    /// Reads the epoch and the digest from the header of a map file, without verifying it: a cheap
    /// way to ask whether there is a newer epoch. Returns a tuple of int and bytes.
    ///
    /// >>> stead.Map.peek("members.map") == (members.epoch, members.digest)
    /// True
    #[staticmethod]
    fn peek<'py>(
        py: Python<'py>,
        path: &Bound<'py, PyAny>,
    ) -> PyResult<(u64, Bound<'py, PyBytes>)> {
        let path = self::path("path", path)?;
        let peeked = py.detach(|| Store::peek(&path)).raise(py)?;
        Ok((peeked.epoch, PyBytes::new(py, &peeked.digest)))
    }

    /// Publishes the map at path, completely or not at all, with its history beside it.
    ///
    /// previous: the map that this one was built on, which must still be the one at path; None if
    /// there is no map at path yet.
    ///
    /// The history is the directory path + ".history", with a map file for each of the newest 32
    /// epochs. Map.history, Map.open_epoch and Map.rollback use it.
    ///
    /// allow: the words of guards that may not refuse the change, with commas between them:
    /// "drop-copies", "leave-data", "lose-domain", "move", "take-back". docs/guards.md says what
    /// each refuses.
    ///
    /// Raises ConflictError if another process published meanwhile: nothing was changed, so build
    /// again on the new map. Raises GuardedError if a guard refuses the change, and nothing was
    /// changed either. Raises UncertainError if the map is in place, but a power cut may
    /// lose it; any other IoError means that nothing was changed. Raises InvalidError if path is a
    /// symbolic link.
    ///
    /// >>> before = stead.Map.open("members.map")
    /// >>> fleet["node"].append({"name": "db4"})
    /// >>> after = stead.Map.build(fleet, before)
    /// >>> after.publish("members.map", before)
    /// >>> stead.Map.open("members.map").epoch
    /// 2
    #[pyo3(signature = (path, previous = None, *, allow = None))]
    fn publish(
        &self,
        py: Python<'_>,
        path: &Bound<'_, PyAny>,
        previous: Option<&Bound<'_, PyAny>>,
        allow: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let path = self::path("path", path)?;
        let previous = optional::<Map>("previous", previous)?.map(|map| Arc::clone(&map.get().map));
        let store = store(&path).allowing(self::allow(allow)?);
        py.detach(|| store.publish(previous.as_deref(), &self.map))
            .raise(py)
    }

    /// Writes a copy of the map to a file, completely or not at all, and replaces an existing file.
    /// It keeps no history and detects no conflicts.
    ///
    /// Raises IoError and its subclasses, UncertainError among them, and InvalidError if path is a
    /// symbolic link.
    ///
    /// >>> members.save("copy.map")
    fn save(&self, py: Python<'_>, path: &Bound<'_, PyAny>) -> PyResult<()> {
        let path = self::path("path", path)?;
        py.detach(|| stead::store::save(&self.map, &path)).raise(py)
    }
}

/// The map file at a path, and its history.
fn store(path: &std::path::Path) -> Store {
    Store::new(path, stead::store::KEEP)
}

/// The epoch that an integer stands for.
fn epoch_of(epoch: &Bound<'_, PyAny>) -> PyResult<u64> {
    whole("epoch", "a number from 0 to 2**64 - 1", epoch)
}

/// The map of a fleet, on top of the previous one if there is one.
fn next(
    py: Python<'_>,
    fleet: &Fleet,
    source: &Source,
    previous: Option<&Bound<'_, Map>>,
    most: Option<Share>,
) -> PyResult<Map> {
    let previous = previous.map(|map| Arc::clone(&map.get().map));
    let built = py.detach(|| match most {
        Some(most) => stead::build_max_move(fleet, previous.as_deref(), most),
        None => stead::build(fleet, previous.as_deref()),
    });
    source.raise(py, built).map(|map| Map::new(Arc::new(map)))
}
