//! Texts in another language for installed services.

use tallymon_core::title::{Language, Titles};

use super::error::{Problem, RegistryError, RegistryErrorKind};
use super::package::Package;
use super::writer::Writer;

impl Writer {
    /// Replaces texts in the table of a language, by index, as `lodctr /L /C /H` does. A new language gets
    /// the English texts of everything else. Returns the number of texts.
    ///
    /// # Errors
    ///
    /// The language is English; a text belongs to no service; no text belongs to this registry; the registry
    /// cannot be written.
    pub fn update_texts(&self, language: Language, texts: &Titles) -> Result<usize, RegistryError> {
        let names = texts.names().map(|(index, text)| (index.0, text.to_string()));
        let texts = names.chain(texts.helps().map(|(index, text)| (index.0, text.to_string()))).collect();
        self.change(|contents| {
            contents.change = format!("texts in {language}");
            let refused = |words: String| RegistryError::new(RegistryErrorKind::Refused, words);
            match contents.translate(language, &texts).map_err(refused)? {
                0 => Err(refused(format!(
                    "none of the {} texts has an index of the {} registry",
                    texts.len(),
                    self.scope().word()
                ))),
                n => Ok(n),
            }
        })
    }

    /// Adds languages to a service whose names are installed: the texts in its INI file in languages other
    /// than English. Returns these languages.
    ///
    /// # Errors
    ///
    /// The service is not installed, or its English names differ from those in the file; the file has no
    /// other language; the registry cannot be written.
    pub fn translate(&self, package: &Package) -> Result<Vec<Language>, RegistryError> {
        let refused =
            |words: String| RegistryError::of(RegistryErrorKind::Refused, Problem::of(&package.path, words));
        let others = || package.languages.iter().copied().filter(|language| *language != Language::ENGLISH);
        self.change(|contents| {
            let service = contents.service(&package.service);
            let range = service.ok_or_else(|| self.no_service(contents, &package.service))?.titles;
            let range = range.ok_or_else(|| {
                refused(format!(
                    "the names of {} are not \
                installed",
                    package.service
                ))
            })?;
            let english = contents.table(Language::ENGLISH);
            for title in &package.titles {
                let index = range.first_counter.0.saturating_add(title.offset);
                let known = english.and_then(|table| table.get(&index)).map(String::as_str);
                let here = title.names.get(&Language::ENGLISH).map(String::as_str);
                if known != here || !range.contains(index) {
                    return Err(refused(format!(
                        "{} is {:?} here and {:?} where it is installed, at {index}; these are files of \
                        another version",
                        title.symbol,
                        here.unwrap_or_default(),
                        known.unwrap_or_default()
                    )));
                }
            }
            for language in others() {
                let texts = package.titles.iter().flat_map(|title| {
                    let name = title.names.get(&language).map(|text| (range.first_counter.0, text));
                    let help = title.helps.get(&language).map(|text| (range.first_help.0, text));
                    let at =
                        |(first, text): (u32, &String)| (first.saturating_add(title.offset), text.clone());
                    name.into_iter().chain(help).map(at)
                });
                contents.translate(language, &texts.collect()).map_err(refused)?;
            }
            let languages: Vec<Language> = others().collect();
            let codes: Vec<String> = others().map(Language::code).collect();
            contents.change = format!("{} in {}", package.service, codes.join(", "));
            match languages.is_empty() {
                true => Err(refused(
                    "it has texts in 009 only; those in other languages are \
                    added"
                        .to_string(),
                )),
                false => Ok(languages),
            }
        })
    }
}
