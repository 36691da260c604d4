/* Reads lines "type N0 D0 N1 D1 count time-base flags" and prints for each the status, the CStatus and the value. */
#include <windows.h>
#include <pdh.h>
#include <stdio.h>
#include <string.h>

int main(void) {
    PDH_RAW_COUNTER older, newer;
    PDH_FMT_COUNTERVALUE value;
    DWORD type, count, flags;
    LONGLONG base;
    memset(&older, 0, sizeof older);
    memset(&newer, 0, sizeof newer);
    while (scanf("%u %lld %lld %lld %lld %u %lld %u", &type, &older.FirstValue, &older.SecondValue, &newer.FirstValue,
                 &newer.SecondValue, &count, &base, &flags) == 8) {
        PDH_STATUS status;
        older.MultiCount = newer.MultiCount = count;
        status = PdhFormatFromRawValue(type, flags, &base, &newer, &older, &value);
        printf("%08X %08X ", (unsigned)status, value.CStatus);
        if (flags & PDH_FMT_LONG) printf("%d\n", value.longValue);
        else if (flags & PDH_FMT_LARGE) printf("%lld\n", value.largeValue);
        else printf("%.17g\n", value.doubleValue);
    }
    return 0;
}
