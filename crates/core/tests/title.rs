//! Tests name tables in all their forms, valid and damaged, and languages.

use tallymon_core::ErrorKind;
use tallymon_core::text::{ByteOrder, append_wide};
use tallymon_core::title::{HelpIndex, Language, TitleIndex, Titles, TsvErrorKind, nearest};

const ORDERS: [ByteOrder; 2] = [ByteOrder::Little, ByteOrder::Big];

/// UTF-16 of a text in which `|` means NUL.
fn wide(text: &str, order: ByteOrder) -> Vec<u8> {
    let mut out = Vec::new();
    append_wide(&mut out, &text.replace('|', "\0"), order);
    out
}

fn names(titles: &Titles) -> String {
    titles.names().map(|(index, name)| format!("{index}={name};")).collect()
}

#[test]
fn registry_tables_are_read() {
    for order in ORDERS {
        let names_table = wide("1|1847|2|System|4|Память|6|% Processor Time||", order);
        let helps_table = wide("3|About the system.|5|О памяти.||", order);
        let titles = Titles::from_multi_sz(&names_table, &helps_table, order).unwrap();
        assert_eq!(names(&titles), "2=System;4=Память;6=% Processor Time;");
        assert_eq!(titles.base_index(), Some(1847));
        assert_eq!(titles.name(TitleIndex(4)), Some("Память"));
        assert_eq!(titles.name(TitleIndex(8)), None);
        assert_eq!(titles.help(HelpIndex(3)), Some("About the system."));
        assert_eq!(titles.helps().count(), 2);
        assert_eq!(titles.to_multi_sz_names(order), names_table);
        assert_eq!(titles.to_multi_sz_helps(order), helps_table);
    }
    let empty = Titles::from_multi_sz(&[], &[], ByteOrder::Little).unwrap();
    assert!(empty.is_empty());
    assert_eq!(empty, Titles::new());
    assert_eq!(empty.to_multi_sz_names(ByteOrder::Little), [0, 0]);
}

#[test]
fn damaged_tables_keep_their_good_part() {
    // Table; byte of the first error; the good part.
    for (table, at, good) in [
        ("2|System|x4|Memory|6|Time||", 18, "2=System;6=Time;"),
        ("2|System|4|", 18, "2=System;"),
        ("2|System|4||6|Time||", 18, "2=System;6=Time;"),
        ("2|System|4|Mem", 28, "2=System;4=Mem;"),
        ("2|System|2|Else|4|Memory||", 18, "2=System;4=Memory;"),
        ("2|System||4|Memory||", 20, "2=System;4=Memory;"),
        ("2|System||||||||4|Memory||", 32, "2=System;4=Memory;"),
        ("0|Zero|2|System||", 0, "2=System;"),
        ("+2|Plus|4|Memory||", 0, "4=Memory;"),
        ("4294967296|Big|2|System||", 0, "2=System;"),
        ("System|2||", 0, ""),
    ] {
        for order in ORDERS {
            let bytes = wide(table, order);
            let error = Titles::from_multi_sz(&bytes, &[], order).unwrap_err();
            assert_eq!((error.what, error.at), ("name table", at), "{table} {error}");
            let (titles, errors) = Titles::from_damaged_multi_sz(&bytes, &[], order);
            assert_eq!(names(&titles), good, "{table}");
            assert_eq!(errors.first(), Some(&error), "{table}");
            let error = Titles::from_multi_sz(&[], &bytes, order).unwrap_err();
            assert_eq!((error.what, error.at), ("help table", at), "{table}");
        }
    }
    let bytes = wide("2|System|4|Mem", ByteOrder::Little);
    let error = Titles::from_multi_sz(&bytes, &[], ByteOrder::Little).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Truncated { needed: 2, found: 0 });
    assert_eq!(error.to_string(), "name table at byte 28: 2 bytes needed, 0 left");
    let error = Titles::from_multi_sz(b"2\0\0\0A\0\0\0\0", &[], ByteOrder::Little).unwrap_err();
    assert_eq!((error.at, error.kind), (8, ErrorKind::Truncated { needed: 2, found: 1 }));
}

#[test]
fn harmless_oddities_are_not_damage() {
    for table in [
        // Without the text that ends the list; with more zeros after it; with the same pair twice.
        "2|System|4|Memory|",
        "2|System|4|Memory|||||",
        "2|System|4|Memory|2|System||",
    ] {
        let titles = Titles::from_multi_sz(&wide(table, ByteOrder::Little), &[], ByteOrder::Little).unwrap();
        assert_eq!(names(&titles), "2=System;4=Memory;");
    }
}

#[test]
fn errors_in_non_tables_are_limited() {
    let bytes = wide(&"x|".repeat(100_000), ByteOrder::Little);
    let (titles, errors) = Titles::from_damaged_multi_sz(&bytes, &[], ByteOrder::Little);
    assert!(titles.is_empty());
    assert_eq!(errors.len(), 1000);
    // A long run of zeros that does not end the table is scanned once.
    let mut zeros = vec![0u8; 4_000_000];
    zeros.extend(wide("2|System||", ByteOrder::Little));
    let (titles, errors) = Titles::from_damaged_multi_sz(&zeros, &[], ByteOrder::Little);
    assert_eq!((names(&titles).as_str(), errors.len()), ("2=System;", 1));
}

#[test]
fn samba_tables_are_read() {
    let Some(folder) = tallymon_testkit::shared("samba") else {
        return;
    };
    let read = |name: &str| std::fs::read(folder.join(name)).unwrap();
    let order = ByteOrder::Little;
    let (counter, explain) = (read("counter009.bin"), read("explain009.bin"));
    let titles = Titles::from_multi_sz(&counter, &explain, order).unwrap();
    assert_eq!(
        names(&titles),
        "2=Widgets;4=Widget Count;6=Widgets/sec;8=Gadget;10=Gadget Level;12=Gadget Bytes;"
    );
    assert_eq!(titles.base_index(), Some(6));
    assert!(titles.helps().count() > 0);
    assert_eq!(titles.to_multi_sz_names(order), counter);
    assert_eq!(titles.to_multi_sz_helps(order), explain);
    // Samba writes stray units after each name that is not ASCII.
    let strays = read("counter009-nonascii.bin");
    let error = Titles::from_multi_sz(&strays, &[], order).unwrap_err();
    assert_eq!((error.what, error.at), ("name table", 40));
    let (titles, errors) = Titles::from_damaged_multi_sz(&strays, &[], order);
    assert_eq!(titles.name(TitleIndex(2)), Some("Größe Objekt"));
    assert!(!errors.is_empty());
}

#[test]
fn title_files_are_read() {
    let text = "\u{feff}# comment\r\n1\t1847\r\n2\tSystem\r\n\r\n3\tAbout\tit\r\n";
    let titles = Titles::from_tsv(text).unwrap();
    assert_eq!(names(&titles), "2=System;");
    assert_eq!(titles.base_index(), Some(1847));
    assert_eq!(titles.help(HelpIndex(3)), Some("About\tit"));
    assert_eq!(titles, Titles::from_pairs([(1, "1847"), (2, "System"), (3, "About\tit")]));
    for (text, line, kind) in [
        ("2\tSystem\n4 Memory", 2, TsvErrorKind::NoTab),
        ("\n\nx\tSystem", 3, TsvErrorKind::BadIndex),
        ("0\tSystem", 1, TsvErrorKind::BadIndex),
        ("-2\tSystem", 1, TsvErrorKind::BadIndex),
        ("\tSystem", 1, TsvErrorKind::BadIndex),
        ("4294967296\tSystem", 1, TsvErrorKind::BadIndex),
        ("2\t\n", 1, TsvErrorKind::NoText),
        ("2\tSystem\n2\tSystem", 2, TsvErrorKind::Repeated(2)),
        ("3\tA\n3\tB", 2, TsvErrorKind::Repeated(3)),
    ] {
        let error = Titles::from_tsv(text).unwrap_err();
        assert_eq!((error.line, error.kind), (line, kind), "{text:?}");
        assert!(error.to_string().starts_with(&format!("title file line {line}: ")), "{error}");
    }
}

#[test]
fn real_windows_names_are_read() {
    let Some(file) = tallymon_testkit::shared("titles/perflib_names_009_vista6000.tsv") else {
        return;
    };
    let titles = Titles::from_tsv(&std::fs::read_to_string(file).unwrap()).unwrap();
    assert_eq!(titles.base_index(), Some(1847));
    assert_eq!(titles.names().count(), 1838);
    assert_eq!(titles.name(TitleIndex(238)), Some("Processor"));
    let indexes = |name: &str| titles.indexes_of(name).map(|index| index.0).collect::<Vec<_>>();
    assert_eq!(indexes("% PROCESSOR time"), [6]);
    assert!(indexes("Bytes Received/sec").len() >= 4);
    assert_eq!(indexes("1847"), [] as [u32; 0]);
    assert_eq!(titles.nearest("% Procesor Time", 1), ["% Processor Time"]);
    for order in ORDERS {
        let again = Titles::from_multi_sz(&titles.to_multi_sz_names(order), &[], order).unwrap();
        assert_eq!(again, titles);
    }
}

#[test]
fn languages_fill_in_missing_texts() {
    let mut korean = Titles::from_pairs([(4, "메모리"), (5, "메모리 설명")]);
    let english = Titles::from_pairs([(2, "System"), (4, "Memory"), (5, "About memory"), (7, "About time")]);
    korean.merge(&english);
    assert_eq!(names(&korean), "2=System;4=메모리;");
    assert_eq!(korean.help(HelpIndex(5)), Some("메모리 설명"));
    assert_eq!(korean.help(HelpIndex(7)), Some("About time"));
    korean.insert_name(TitleIndex(4), "Память");
    assert_eq!(korean.indexes_of("ПАМЯТЬ").collect::<Vec<_>>(), [TitleIndex(4)]);
    korean.insert_help(HelpIndex(5), "");
    assert_eq!(korean.to_multi_sz_helps(ByteOrder::Little), wide("7|About time||", ByteOrder::Little));
}

#[test]
fn similar_names_are_suggested() {
    let candidates = ["Processor", "Process", "Memory", "% Processor Time", "Память", "Process", "프로세서"];
    let near = |wanted, most| nearest(wanted, candidates, most);
    assert_eq!(near("procesor", 9), ["Processor", "Process"]);
    assert_eq!(near("PROCESS", 9), ["Process", "Processor", "% Processor Time"]);
    assert_eq!(near("procesor", 1), ["Processor"]);
    assert_eq!(near("Meomry", 9), ["Memory"]);
    assert_eq!(near("памтяь", 9), ["Память"]);
    assert_eq!(near("프로새서", 9), ["프로세서"]);
    assert_eq!(near("Processor Time", 2), ["% Processor Time", "Processor"]);
    assert_eq!(near("xyzzy", 9), [] as [&str; 0]);
    assert_eq!(near("", 9), [] as [&str; 0]);
    assert_eq!(near("Memory", 0), [] as [&str; 0]);
    assert_eq!(nearest(&"a".repeat(100_000), candidates, 9), [] as [&str; 0]);
    assert_eq!(nearest("abc", [&*"a".repeat(1_000_000)], 9), [] as [&str; 0]);
}

#[test]
fn languages_are_parsed() {
    for (text, code, tag) in [
        ("009", "009", "en"),
        ("0x409", "009", "en"),
        ("0409", "009", "en"),
        ("0X0412", "012", "ko"),
        ("en", "009", "en"),
        ("EN_us", "009", "en"),
        ("English", "009", "en"),
        ("C", "009", "en"),
        ("C.UTF-8", "009", "en"),
        ("POSIX", "009", "en"),
        ("ko", "012", "ko"),
        ("ko-KR.UTF-8", "012", "ko"),
        ("ja_JP.eucJP", "011", "ja"),
        (" ru ", "019", "ru"),
        ("russian", "019", "ru"),
        ("de_DE@euro", "007", "de"),
        ("404", "404", "zh-TW"),
        ("zh-TW", "404", "zh-TW"),
        ("zh_TW.Big5", "404", "zh-TW"),
        ("zh-Hant", "404", "zh-TW"),
        ("zh-Hant-HK", "c04", "zh-HK"),
        ("C04", "c04", "zh-HK"),
        ("zh-CN", "804", "zh-CN"),
        ("zh-Hans", "804", "zh-CN"),
        ("zh", "804", "zh-CN"),
        ("0x1004", "1004", "zh-SG"),
        ("pt-BR", "416", "pt-BR"),
        ("pt", "416", "pt-BR"),
        ("pt_PT.UTF-8", "816", "pt-PT"),
        ("816", "816", "pt-PT"),
        ("Portuguese (Brazil)", "416", "pt-BR"),
        ("sr", "01a", "hr"),
        ("nn-NO", "014", "nb"),
        ("1ff", "1ff", "und"),
    ] {
        let language = Language::parse(text).unwrap_or_else(|| panic!("{text}"));
        assert_eq!((language.code().as_str(), language.tag()), (code, tag), "{text}");
        assert_eq!(language.to_string(), code);
        assert_eq!(Language::parse(&language.code()), Some(language), "{text}");
        assert_eq!(Language::new(language.langid()), language);
        if tag != "und" {
            assert_eq!(Language::parse(tag), Some(language), "{text}");
            assert_eq!(Language::parse(language.name()), Some(language), "{text}");
        }
    }
    for text in
        ["", "0", "09", "000", "0x000", "0x", "0x10409", "xx", "zz-ZZ", "400", "English (", "-", "..", "0xde"]
    {
        assert_eq!(Language::parse(text), None, "{text}");
    }
    assert_eq!(Language::new(0x409), Language::ENGLISH);
    assert_eq!(Language::new(0x400), Language::ENGLISH);
    assert_eq!(Language::new(0x804), Language::CHINESE_SIMPLIFIED);
    assert_eq!(Language::PORTUGUESE.name(), "Portuguese (Portugal)");
    assert_eq!(Language::new(0x1ff).name(), "unknown");
    let named = [
        (Language::KOREAN, "Korean"),
        (Language::JAPANESE, "Japanese"),
        (Language::RUSSIAN, "Russian"),
        (Language::GERMAN, "German"),
        (Language::CHINESE_TRADITIONAL, "Chinese (Taiwan)"),
        (Language::PORTUGUESE_BRAZIL, "Portuguese (Brazil)"),
    ];
    assert!(named.iter().all(|(language, name)| language.name() == *name));
}

#[test]
fn every_language_code_parses_back() {
    for langid in 0..=u16::MAX {
        let language = Language::new(langid);
        assert_eq!(Language::parse(&language.code()), Some(language), "{langid:#x}");
        assert_eq!(Language::new(language.langid()), language);
    }
}

#[test]
fn any_bytes_give_a_table_or_an_error() {
    let mut state = 21u64;
    let mut below = |limit: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % limit as u64) as usize
    };
    let units = ["\0", "\0", "\0", "2", "4", "6", "a", "ж", "x"];
    let (mut strict, mut pairs) = (0, 0);
    for _ in 0..50_000 {
        let text: String = (0..below(16)).map(|_| units[below(units.len())]).collect();
        for order in ORDERS {
            let mut bytes = wide(&text, order);
            if below(8) == 0 {
                bytes.push(below(3) as u8);
            }
            let (titles, errors) = Titles::from_damaged_multi_sz(&bytes, &bytes, order);
            let result = Titles::from_multi_sz(&bytes, &bytes, order);
            assert!(errors.iter().all(|error| error.at <= bytes.len()));
            match result {
                Ok(read) => {
                    assert_eq!((&read, errors.len()), (&titles, 0));
                    strict += 1;
                }
                Err(error) => assert_eq!(errors.first(), Some(&error)),
            }
            // What was read can be written, and is then sorted.
            let again = Titles::from_multi_sz(
                &titles.to_multi_sz_names(order),
                &titles.to_multi_sz_helps(order),
                order,
            );
            assert_eq!(again, Ok(titles.clone()));
            pairs += titles.helps().count();
        }
    }
    assert!(strict > 1_000 && pairs > 10_000, "{strict} {pairs}");
}
