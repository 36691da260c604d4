// Starts itself once more as another process, waits for it, and says what it said.
using System;
using System.Diagnostics;
using System.Runtime.CompilerServices;

namespace Parent
{
    static class Program
    {
        [MethodImpl(MethodImplOptions.NoInlining)] static int InChild(int n) { return n * 2; }

        [MethodImpl(MethodImplOptions.NoInlining)] static string InParent(string host, string program)
        {
            ProcessStartInfo start = new ProcessStartInfo(host, "exec \"" + program + "\" child");
            start.UseShellExecute = false;
            start.RedirectStandardOutput = true;
            using (Process process = Process.Start(start))
            {
                string said = process.StandardOutput.ReadToEnd();
                process.WaitForExit();
                return said.Trim();
            }
        }

        static void Main(string[] arguments)
        {
            if (arguments[0] == "child") Console.WriteLine(InChild(21));
            else Console.WriteLine("the child says " + InParent(arguments[0], arguments[1]));
        }
    }
}
