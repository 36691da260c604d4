// Loads itself as a plug-in into contexts that can be unloaded, so many at a time as the second argument says, runs
// each, and unloads them, as often as the first argument says. Each copy has its own types and methods.
using System;
using System.IO;
using System.Reflection;
using System.Runtime.CompilerServices;

public static class Plugin {
    static int Twice(int x) { return x * 2; }
    static T Same<T>(T value) { return value; }
    [MethodImpl(MethodImplOptions.NoInlining)]
    public static int Run(int x) {
        int sum = 0;
        for (int n = 0; n < 10; n++) sum += Twice(x) + Same(n);
        return sum;
    }
}

static class Unloads {
    static ConstructorInfo create;
    static MethodInfo load, unload;
    static byte[] copy;

    [MethodImpl(MethodImplOptions.NoInlining)]
    static WeakReference[] LoadAll(int count) {
        object[] contexts = new object[count];
        WeakReference[] loaded = new WeakReference[count];
        for (int n = 0; n < count; n++) {
            contexts[n] = create.Invoke(new object[] { "plug-in", true });
            Assembly assembly = (Assembly)load.Invoke(contexts[n], new object[] { new MemoryStream(copy) });
            int found = (int)assembly.GetType("Plugin").GetMethod("Run").Invoke(null, new object[] { 4 });
            if (found != Plugin.Run(4)) Environment.Exit(9);
            loaded[n] = new WeakReference(assembly);
        }
        foreach (object context in contexts) unload.Invoke(context, null);
        return loaded;
    }

    static bool AnyLives(WeakReference[] all) {
        foreach (WeakReference one in all) if (one.IsAlive) return true;
        return false;
    }

    static void Main(string[] arguments) {
        copy = File.ReadAllBytes(typeof(Unloads).Assembly.Location);
        Type context = Type.GetType("System.Runtime.Loader.AssemblyLoadContext, System.Private.CoreLib");
        create = context.GetConstructor(new Type[] { typeof(string), typeof(bool) });
        load = context.GetMethod("LoadFromStream", new Type[] { typeof(Stream) });
        unload = context.GetMethod("Unload");
        int turns = int.Parse(arguments[0]), count = int.Parse(arguments[1]), left = 0;
        for (int turn = 0; turn < turns; turn++) {
            WeakReference[] all = LoadAll(count);
            for (int n = 0; AnyLives(all) && n < 20; n++) {
                GC.Collect();
                GC.WaitForPendingFinalizers();
            }
            if (AnyLives(all)) left++;
        }
        Console.WriteLine("left " + left);
    }
}
