//! Files are copied whole or not at all, between directories and agents of all kinds.

mod copies;
mod faults;
mod hostile;
mod places;
mod terms;
