//! The life of the behemoths: they walk, eat, nap, breed and die, identically for the same seed.
//!
//! A [`World`] advances in steps. It has no clock: the caller of a step passes the time.

use tallymon_provider::FileTime;

use crate::random::Random;

/// Length and width of the meadow in metres.
pub const MEADOW: i64 = 1000;
/// Minimum weight of an adult and weight of a calf, in kilograms.
const ADULT: u64 = 2000;
const CALF: u64 = 60;
/// No calves are born at this number of behemoths.
const CROWDED: usize = 24;
/// Maximum number of behemoths, including those added by hand.
const MOST: usize = 200;
/// Maximum distance of two behemoths that breed, in metres.
const NEAR: i64 = 250;

/// A point in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moment {
    /// On the performance clock, in units of 100 ns.
    pub perf: u64,
    /// On the calendar.
    pub civil: FileTime,
}

/// Male or female.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Sex {
    /// Can become a mother.
    Female,
    /// Can become a father.
    Male,
}

impl Sex {
    /// The sex as a word.
    pub const fn word(self) -> &'static str {
        match self {
            Sex::Female => "female",
            Sex::Male => "male",
        }
    }
}

/// A behemoth.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Behemoth {
    /// An id that no other behemoth has or had.
    pub id: u32,
    /// Its mother's id.
    pub mother: Option<u32>,
    /// Its mother's name, kept after her death.
    pub mother_name: String,
    /// Its name, unique among the living.
    pub name: String,
    /// Its sex.
    pub sex: Sex,
    /// Time of birth.
    pub born: Moment,
    /// Metres to the east and to the north.
    pub place: (i64, i64),
    /// Kilograms.
    pub weight: u64,
    /// Kilograms in its stomach, and its capacity.
    pub stomach: (u64, u64),
    /// From mother and father.
    pub genes: u64,
    /// Metres walked so far.
    pub steps: u64,
    /// Searches for food.
    pub searches: u64,
    /// Searches that found food.
    pub found: u64,
    /// Meals, found or given.
    pub meals: u64,
    /// Kilograms eaten so far.
    pub eaten: u64,
    /// Finished naps.
    pub naps: u64,
    /// Duration of the finished naps, in units of 100 ns.
    pub napped: u64,
    /// Time asleep, including the current nap.
    pub slept: u64,
    /// Number of flies on it.
    pub flies: u64,
    /// Number of flies times the time that they sat there, in units of 100 ns.
    pub fly_time: u64,
    /// Start of the current nap, and number of steps left in it.
    nap: Option<(u64, u64)>,
    /// Steps that it has lived, and steps that it can live.
    steps_lived: u64,
    life: u64,
    /// Number of steps until it can breed again.
    rest: u64,
}

/// The world with all its behemoths.
#[derive(Debug, Clone)]
pub struct World {
    random: Random,
    behemoths: Vec<Behemoth>,
    next_id: u32,
    now: Moment,
    /// Time of the last step on the performance clock.
    stepped: u64,
    /// How many were born or walked in.
    pub births: u64,
    /// How many died or were removed.
    pub deaths: u64,
    /// Lifetime of the dead and removed, in units of 100 ns.
    pub lived: u64,
}

const FEMALES: [&str; 16] = [
    "Ada", "Berta", "Clara", "Dora", "Emma", "Frida", "Greta", "Hilda", "Ida", "Jana", "Karla", "Lola",
    "Mina", "Nora", "Olga", "Paula",
];
const MALES: [&str; 16] = [
    "Anton", "Bruno", "Carl", "Dimitri", "Emil", "Fritz", "Gustav", "Hugo", "Igor", "Jakob", "Kurt", "Leo",
    "Max", "Nils", "Otto", "Pavel",
];

impl World {
    /// A world with `n` adults.
    pub fn new(seed: u64, n: u32, now: Moment) -> World {
        let random = Random::new(seed);
        let mut world = World {
            random,
            behemoths: Vec::new(),
            next_id: 1,
            now,
            stepped: now.perf,
            births: 0,
            deaths: 0,
            lived: 0,
        };
        for number in 0..n {
            let sex = if number.is_multiple_of(2) { Sex::Female } else { Sex::Male };
            world.walk_in(sex, None);
        }
        world
    }

    /// All living behemoths, oldest first.
    pub fn behemoths(&self) -> &[Behemoth] {
        &self.behemoths
    }

    /// The behemoth with this name, in any case.
    pub fn find(&mut self, name: &str) -> Option<&mut Behemoth> {
        self.behemoths.iter_mut().find(|one| one.name.eq_ignore_ascii_case(name))
    }

    /// The world's current time.
    pub const fn now(&self) -> Moment {
        self.now
    }

    /// Adds an adult with the given name or a new one. `None` if the name is taken or not a short word, or if
    /// the meadow is full.
    pub fn walk_in(&mut self, sex: Sex, name: Option<&str>) -> Option<u32> {
        let name = match name {
            Some(name) if !is_name(name) || self.find(name).is_some() => return None,
            Some(name) => name.to_string(),
            None => self.new_name(sex),
        };
        let weight = ADULT.saturating_add(self.random.below(1500));
        let genes = self.random.next();
        let x = self.random.within(0, MEADOW - 1);
        let y = self.random.within(0, MEADOW - 1);
        self.arrive(Arrival { name, sex, weight, genes, place: (x, y), mother: None })
    }

    /// Feeds a behemoth this many kilograms, or as many as fit. Returns the number of kilograms.
    pub fn feed(&mut self, name: &str, kilograms: u64) -> Option<u64> {
        let one = self.find(name)?;
        let eaten = kilograms.min(one.stomach.1.saturating_sub(one.stomach.0));
        one.eat(eaten);
        Some(eaten)
    }

    /// Removes a behemoth.
    pub fn remove(&mut self, name: &str) -> bool {
        let Some(at) = self.behemoths.iter().position(|one| one.name.eq_ignore_ascii_case(name)) else {
            return false;
        };
        let one = self.behemoths.remove(at);
        self.bury(&one);
        true
    }

    /// Advances the time without a step.
    pub const fn wait(&mut self, now: Moment) {
        self.now = now;
    }

    /// Makes a step: every behemoth does something, and the time advances to `now`.
    pub fn step(&mut self, now: Moment) {
        let passed = now.perf.saturating_sub(self.stepped);
        (self.now, self.stepped) = (now, now.perf);
        for one in &mut self.behemoths {
            one.step(&mut self.random, now, passed);
        }
        let (alive, dead) = std::mem::take(&mut self.behemoths).into_iter().partition(Behemoth::is_alive);
        self.behemoths = alive;
        let dead: Vec<Behemoth> = dead;
        dead.iter().for_each(|one| self.bury(one));
        self.breed();
        for sex in [Sex::Female, Sex::Male] {
            // A meadow with only one sex would soon be empty.
            if self.behemoths.iter().all(|one| one.sex != sex) {
                self.walk_in(sex, None);
            }
        }
    }

    fn bury(&mut self, one: &Behemoth) {
        self.deaths = self.deaths.saturating_add(1);
        self.lived = self.lived.saturating_add(self.now.perf.saturating_sub(one.born.perf));
    }

    fn breed(&mut self) {
        let mut calves = Vec::new();
        for at in 0..self.behemoths.len() {
            if self.behemoths.len().saturating_add(calves.len()) >= CROWDED {
                break;
            }
            let Some(mother) = self.behemoths.get(at).filter(|one| one.sex == Sex::Female && one.is_ready())
            else {
                continue;
            };
            let father = self
                .behemoths
                .iter()
                .find(|one| one.sex == Sex::Male && one.is_ready() && one.distance(mother) < NEAR);
            let Some(father) = father else { continue };
            let from_mother = self.random.next();
            let genes = (mother.genes & from_mother) | (father.genes & !from_mother);
            calves.push((at, mother.id, mother.name.clone(), mother.place, genes));
        }
        for (at, id, name, place, genes) in calves {
            if let Some(mother) = self.behemoths.get_mut(at) {
                mother.rest = 150;
            }
            let sex = if self.random.below(2) == 0 { Sex::Female } else { Sex::Male };
            let calf = self.new_name(sex);
            self.arrive(Arrival { name: calf, sex, weight: CALF, genes, place, mother: Some((id, name)) });
        }
    }

    fn arrive(&mut self, new: Arrival) -> Option<u32> {
        if self.behemoths.len() >= MOST {
            return None;
        }
        let id = self.next_id;
        self.next_id = self.next_id.saturating_add(1);
        self.births = self.births.saturating_add(1);
        let (mother, mother_name) = new.mother.unzip();
        self.behemoths.push(Behemoth {
            id,
            mother,
            mother_name: mother_name.unwrap_or_default(),
            name: new.name,
            sex: new.sex,
            born: self.now,
            place: new.place,
            weight: new.weight,
            stomach: (40, 200),
            genes: new.genes,
            steps: 0,
            searches: 0,
            found: 0,
            meals: 0,
            eaten: 0,
            naps: 0,
            napped: 0,
            slept: 0,
            flies: 0,
            fly_time: 0,
            nap: None,
            steps_lived: 0,
            life: self.random.within(600, 1800).unsigned_abs(),
            rest: 100,
        });
        Some(id)
    }

    /// A name that no living behemoth has: a plain one, else one with a number.
    fn new_name(&mut self, sex: Sex) -> String {
        let names = if sex == Sex::Female { FEMALES } else { MALES };
        let start = usize::try_from(self.random.below(16)).unwrap_or(0);
        let mut round = 1u32;
        loop {
            for name in names.iter().cycle().skip(start).take(names.len()) {
                let name = if round == 1 { (*name).to_string() } else { format!("{name} {round}") };
                if self.find(&name).is_none() {
                    return name;
                }
            }
            round = round.saturating_add(1);
        }
    }
}

struct Arrival {
    name: String,
    sex: Sex,
    weight: u64,
    genes: u64,
    place: (i64, i64),
    mother: Option<(u32, String)>,
}

/// Whether a name consists of letters, digits and blanks, so that it can be part of a counter path.
fn is_name(name: &str) -> bool {
    let allowed = |one: char| one.is_alphanumeric() || one == ' ';
    (1..=24).contains(&name.len()) && name.trim() == name && name.chars().all(allowed)
}

impl Behemoth {
    fn step(&mut self, random: &mut Random, now: Moment, passed: u64) {
        self.steps_lived = self.steps_lived.saturating_add(1);
        self.rest = self.rest.saturating_sub(1);
        self.fly_time = self.fly_time.saturating_add(self.flies.saturating_mul(passed));
        self.flies = random.below(6);
        self.digest();
        if let Some((since, left)) = self.nap {
            self.slept = self.slept.saturating_add(passed);
            self.nap = left.checked_sub(1).map(|left| (since, left));
            if self.nap.is_none() {
                self.naps = self.naps.saturating_add(1);
                self.napped = self.napped.saturating_add(now.perf.saturating_sub(since));
            }
            return;
        }
        if random.below(30) == 0 {
            self.nap = Some((now.perf, random.below(20)));
            return;
        }
        self.walk(random);
        if self.stomach.0 < self.stomach.1 / 2 {
            self.searches = self.searches.saturating_add(1);
            if random.below(4) == 0 {
                self.found = self.found.saturating_add(1);
                let kilograms = random.below(40).saturating_add(5);
                self.eat(kilograms.min(self.stomach.1.saturating_sub(self.stomach.0)));
            }
        }
    }

    fn walk(&mut self, random: &mut Random) {
        let (x, y) = self.place;
        let to = |at: i64, by: i64| at.saturating_add(by).clamp(0, MEADOW - 1);
        let there = (to(x, random.within(-9, 9)), to(y, random.within(-9, 9)));
        let distance = there.0.abs_diff(x).saturating_add(there.1.abs_diff(y));
        self.steps = self.steps.saturating_add(distance);
        self.place = there;
    }

    fn eat(&mut self, kilograms: u64) {
        self.stomach.0 = self.stomach.0.saturating_add(kilograms);
        self.meals = self.meals.saturating_add(1);
        self.eaten = self.eaten.saturating_add(kilograms);
    }

    /// A step digests two kilograms of food, and makes calves grow by ten.
    fn digest(&mut self) {
        if let Some(left) = self.stomach.0.checked_sub(2) {
            self.stomach.0 = left;
            let growth = if self.weight < ADULT { 10 } else { 1 };
            self.weight = self.weight.saturating_add(growth).min(4000);
        } else {
            self.weight = self.weight.saturating_sub(5);
        }
    }

    const fn is_alive(&self) -> bool {
        self.steps_lived < self.life && self.weight > 20
    }

    const fn is_ready(&self) -> bool {
        self.weight >= ADULT && self.rest == 0 && self.nap.is_none()
    }

    fn distance(&self, other: &Behemoth) -> i64 {
        let along = |one: i64, other: i64| one.saturating_sub(other).saturating_abs();
        along(self.place.0, other.place.0).max(along(self.place.1, other.place.1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moment(step: u64) -> Moment {
        Moment { perf: 10_000_000 + step * 1_000_000, civil: FileTime(step * 1_000_000) }
    }

    fn after(seed: u64, steps: u64) -> World {
        let mut world = World::new(seed, 8, moment(0));
        (1..=steps).for_each(|step| world.step(moment(step)));
        world
    }

    #[test]
    fn equal_seeds_give_equal_lives() {
        assert_eq!(after(7, 900).behemoths(), after(7, 900).behemoths());
        assert_ne!(after(7, 900).behemoths(), after(8, 900).behemoths());
    }

    #[test]
    fn behemoths_breed_and_die_and_never_die_out() {
        for seed in 0..20 {
            let mut world = World::new(seed, 8, moment(0));
            let mut mothers = 0;
            for step in 1..5000 {
                world.step(moment(step));
                let n = world.behemoths().len();
                assert!((2..=CROWDED + 2).contains(&n), "{n} of seed {seed} at step {step}");
                mothers += world.behemoths().iter().filter(|one| one.mother.is_some()).count();
            }
            assert!(world.deaths > 10 && mothers > 1000, "seed {seed}");
            assert_eq!(world.births - world.deaths, world.behemoths().len() as u64);
            let mut names: Vec<&str> = world.behemoths().iter().map(|one| &*one.name).collect();
            names.sort_unstable();
            assert!(names.windows(2).all(|two| two.first() != two.last()), "{names:?}");
        }
    }

    #[test]
    fn invalid_changes_are_rejected() {
        let mut world = after(7, 1);
        let name = world.behemoths().first().map(|one| one.name.clone()).unwrap_or_default();
        assert_eq!(world.walk_in(Sex::Male, Some(&name)), None);
        assert_eq!(world.walk_in(Sex::Male, Some("a\\b")), None);
        assert!(world.walk_in(Sex::Male, Some("Behemoth Kot")).is_some());
        assert_eq!(world.feed("behemoth kot", 1_000_000), Some(160));
        assert_eq!(world.feed("Nobody", 1), None);
        assert!(world.remove("Behemoth Kot") && !world.remove("Behemoth Kot"));
    }
}
