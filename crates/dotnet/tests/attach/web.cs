// A server of ASP.NET Core, made through the names of its parts, which the compiler does not know: the folder with them is
// an argument. It answers until its input ends.
using System;
using System.Collections;
using System.IO;
using System.Net.Http;
using System.Reflection;
using System.Threading;
using System.Threading.Tasks;

static class Web
{
    static string folder;
    static string url;
    static readonly HttpClient Client = new HttpClient();

    static Assembly Find(object sender, ResolveEventArgs arguments)
    {
        string file = Path.Combine(folder, new AssemblyName(arguments.Name).Name + ".dll");
        return File.Exists(file) ? Assembly.LoadFrom(file) : null;
    }

    static Task Fast(object context) { return Task.CompletedTask; }
    static async Task Slow(object context) { await Task.Delay(20); }
    static Task Fail(object context) { throw new InvalidOperationException("on purpose"); }
    static async Task Call(object context) { (await Client.GetAsync(url + "/orders/1")).Dispose(); }

    static void Map(object app, string pattern, string method)
    {
        Type routes = Assembly.Load("Microsoft.AspNetCore.Routing").GetType("Microsoft.AspNetCore.Builder.EndpointRouteBuilderExtensions");
        Type handler = Assembly.Load("Microsoft.AspNetCore.Http.Abstractions").GetType("Microsoft.AspNetCore.Http.RequestDelegate");
        Delegate answer = Delegate.CreateDelegate(handler, typeof(Web).GetMethod(method, BindingFlags.Static | BindingFlags.NonPublic));
        foreach (MethodInfo map in routes.GetMethods())
        {
            ParameterInfo[] parameters = map.GetParameters();
            if (map.Name != "MapGet" || parameters.Length != 3 || parameters[2].ParameterType != handler) continue;
            map.Invoke(null, new object[] { app, pattern, answer });
            return;
        }
        throw new InvalidOperationException("no method MapGet");
    }

    static void Main(string[] arguments)
    {
        folder = arguments[0];
        AppDomain.CurrentDomain.AssemblyResolve += Find;
        Serve();
    }

    static void Serve()
    {
        Type type = Assembly.Load("Microsoft.AspNetCore").GetType("Microsoft.AspNetCore.Builder.WebApplication");
        string[] settings = new string[] { "--urls", "http://127.0.0.1:0", "--Logging:LogLevel:Default=None" };
        object builder = type.GetMethod("CreateSlimBuilder", new Type[] { typeof(string[]) }).Invoke(null, new object[] { settings });
        object app = builder.GetType().GetMethod("Build").Invoke(builder, null);
        Map(app, "/", "Fast");
        Map(app, "/orders/{id}", "Slow");
        Map(app, "/fail", "Fail");
        Map(app, "/call", "Call");
        ((Task)type.GetMethod("StartAsync").Invoke(app, new object[] { default(CancellationToken) })).Wait();
        foreach (object one in (IEnumerable)type.GetProperty("Urls").GetValue(app, null)) url = one.ToString();
        Console.WriteLine(url);
        Console.ReadLine();
    }
}
