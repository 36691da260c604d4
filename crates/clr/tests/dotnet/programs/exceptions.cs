// Ways in which an exception ends calls. Each scenario runs ten times; what it does is printed, so that the output shows
// that nothing was changed.
using System;
using System.Runtime.CompilerServices;

static class Exceptions
{
    const MethodImplOptions No = MethodImplOptions.NoInlining;
    static int steps;

    [MethodImpl(No)] static void Throw(int n) { if (n > 0) { Throw(n - 1); steps++; } else throw new InvalidOperationException("x"); }
    [MethodImpl(No)] static void Quiet() { steps++; }

    [MethodImpl(No)] static void Finally() { try { Throw(3); } finally { Quiet(); } }
    [MethodImpl(No)] static void NestedFinally() { try { try { Throw(1); } finally { Finally2(); } } finally { Quiet(); } }
    [MethodImpl(No)] static void Finally2() { try { Throw(2); } catch (InvalidOperationException) { Quiet(); } finally { Quiet(); } }
    [MethodImpl(No)] static void ThrowInFinally() { try { Throw(1); } finally { Throw(2); } }
    [MethodImpl(No)] static void Rethrow() { try { Throw(2); } catch (InvalidOperationException) { Quiet(); throw; } }
    [MethodImpl(No)] static void ThrowInCatch() { try { Throw(1); } catch (InvalidOperationException) { Throw(2); } }
    [MethodImpl(No)] static bool Filter(Exception e, bool answer) { Quiet(); return answer; }
    [MethodImpl(No)] static void Filtered()
    {
        try { try { Throw(2); } catch (Exception e) when (Filter(e, false)) { steps += 1000; } }
        catch (Exception e) when (Filter(e, true)) { Quiet(); }
        Throw(1);
    }
    [MethodImpl(No)] static int Null(string text) { return text.Length; }
    [MethodImpl(No)] static void NullReference() { Null(null); }
    [MethodImpl(No)] static int Divide(int a, int b) { return a / b; }
    [MethodImpl(No)] static void DivideByZero() { Divide(1, 0); }
    [MethodImpl(No)] static void Recursive(int n)
    {
        try { if (n == 0) throw new ArgumentException(); Recursive(n - 1); }
        catch (ArgumentException) { Quiet(); if (n < 3) throw; }
    }
    [MethodImpl(No)] static void Recursion() { Recursive(6); throw new Exception(); }
    [MethodImpl(No)] static void Reflection() { typeof(Public).GetConstructor(new Type[0]).Invoke(null); }
    class Public { [MethodImpl(No)] public Public() { Throw(2); } }

    [MethodImpl(No)] static string Run(Action action)
    {
        try { action(); return "none"; }
        catch (Exception e) { Quiet(); return e.GetType().Name; }
    }

    static void Main()
    {
        Action[] all = { Finally, NestedFinally, ThrowInFinally, Rethrow, ThrowInCatch, Filtered, NullReference, DivideByZero, Recursion, Reflection };
        for (int n = 0; n < 10; n++)
            foreach (Action action in all)
            {
                string name = Run(action);
                if (n == 0) Console.WriteLine(action.Method.Name + " " + name);
                Quiet();
            }
        Console.WriteLine(steps.ToString());
    }
}
