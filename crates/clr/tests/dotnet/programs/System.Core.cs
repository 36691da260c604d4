// As mscorlib.cs: where the methods of queries are now.
using System.Runtime.CompilerServices;

[assembly: System.Reflection.AssemblyVersion("4.0.0.0")]
[assembly: TypeForwardedTo(typeof(System.Linq.Enumerable))]

namespace System.Reflection
{
    class AssemblyVersionAttribute : Attribute { public AssemblyVersionAttribute(string version) { } }
}
