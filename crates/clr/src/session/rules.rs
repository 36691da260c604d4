//! Which modules are the user's own, and which types only throw for others.

use std::path::Path;

/// The first two parts of a module's name, such as `Microsoft.CodeAnalysis`, when the first is that of a
/// framework.
pub(super) fn family(file: &Path) -> Option<String> {
    let name = file.file_stem()?.to_str()?;
    let mut parts = name.split('.');
    let (first, second) = (parts.next()?, parts.next()?);
    (first == "Microsoft" || first == "System").then(|| format!("{first}.{second}"))
}

/// Whether a module is the user's own: not in the folder of a shared framework, together with the runtime's
/// library, and not named like a part of a framework that comes with a program, unless the program itself is
/// named so: then those of its `family`. A module without a path was created by the program.
pub(super) fn is_user(file: &Path, framework: Option<&Path>, family: Option<&str>) -> bool {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let belongs = |prefix: &str| name.strip_prefix(prefix).is_some_and(|rest| rest.starts_with('.'));
    // A program that ships its runtime, in its folder or in its single file, has its own modules in the same
    // place.
    let shared = |folder: &Path| folder.components().any(|part| part.as_os_str() == "Microsoft.NETCore.App");
    let beside = framework.is_some_and(|folder| shared(folder) && file.parent() == Some(folder));
    !beside
        && ((!belongs("System") && !belongs("Microsoft")) || family.is_some_and(belongs))
        && name != "mscorlib.dll"
        && name != "netstandard.dll"
        && name != "WindowsBase.dll"
}

/// Whether a type is part of how .NET 9 and later throw exceptions. The exception is reported in the middle
/// of that code, would count for that type, and its calls never return. Earlier versions do the same in
/// native code, which is not recorded.
pub(super) fn throws_for_others(type_name: &str, user: bool) -> bool {
    let outermost = type_name.split('+').next().unwrap_or_default();
    let types = [
        "System.Runtime.EH",
        "System.Runtime.StackFrameIterator",
        "System.Runtime.ExceptionServices.InternalCalls",
    ];
    !user && types.contains(&outermost)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn framework_modules_differ_from_user_modules() {
        let framework = Some(Path::new("/dotnet/shared/Microsoft.NETCore.App/3.1.23"));
        let check = |path: &str| is_user(Path::new(path), framework, None);
        assert!(check("/app/TestApp.dll"));
        assert!(check("/app/Systematic.dll"));
        assert!(check(""));
        assert!(!check("/dotnet/shared/Microsoft.NETCore.App/3.1.23/WindowsBase.dll"));
        assert!(!check("/app/System.Text.Json.dll"));
        assert!(!check("/app/Microsoft.Extensions.Logging.dll"));
        assert!(!check("/app/mscorlib.dll"));
        assert!(!is_user(Path::new("/app/System.Private.CoreLib.dll"), None, None));
        let carried = Some(Path::new("/app"));
        assert!(is_user(Path::new("/app/TestApp.dll"), carried, None));
        assert!(!is_user(Path::new("/app/System.Linq.dll"), carried, None));
        // A program that is named like a framework.
        let own = family(Path::new("/app/Microsoft.Sarif.Driver.dll"));
        assert_eq!(own.as_deref(), Some("Microsoft.Sarif"));
        assert_eq!(family(Path::new("/app/csc.dll")), None);
        let check = |path: &str| is_user(Path::new(path), framework, own.as_deref());
        assert!(check("/app/Microsoft.Sarif.Driver.dll") && check("/app/Microsoft.Sarif.dll"));
        assert!(!check("/app/Microsoft.Extensions.Logging.dll") && check("/app/TestApp.dll"));
    }

    #[test]
    fn throw_helpers_belong_to_the_runtime() {
        assert!(throws_for_others("System.Runtime.EH+ExInfo", false));
        assert!(throws_for_others("System.Runtime.StackFrameIterator", false));
        assert!(!throws_for_others("System.Runtime.EHandler", false));
        assert!(!throws_for_others("System.Runtime.EH", true));
    }
}
